import type { TFunction } from 'i18next'

/** A newer server may return a reason without a translation; `otherwise` is the server's own text. */
export const reasonText = (t: TFunction<'campaigns'>, code: string, otherwise: string): string =>
  t(`why.codes.${code}` as 'why.codes.busy', { defaultValue: otherwise })
