import type { ComponentProps } from 'react'
import { useTranslation } from 'react-i18next'
import { Password } from '../ui/password.tsx'

/** Characters; the API refuses shorter ones. */
const SHORTEST = 10
export const isTooShort = (password: string) => password.length < SHORTEST

/** A field for a password that is being chosen. */
export function NewPassword({ label, ...input }: Omit<ComponentProps<typeof Password>, 'label'> & { label?: string }) {
  const { t } = useTranslation('account')
  return (
    <Password
      required
      autoComplete="new-password"
      label={label ?? t('password')}
      description={t('passwordHint')}
      {...input}
    />
  )
}
