import type { TFunction } from 'i18next'

/** A newer server may have a reason that this page has no words for: `otherwise` is its own. */
export const reasonText = (t: TFunction<'campaigns'>, code: string, otherwise: string): string =>
  t(`why.codes.${code}` as 'why.codes.busy', { defaultValue: otherwise })
