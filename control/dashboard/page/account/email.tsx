import { TextInput, type TextInputProps } from '@mantine/core'
import { useTranslation } from 'react-i18next'

/** The email address by which people log in. */
export function EmailInput(props: TextInputProps) {
  const { t } = useTranslation('account')
  return <TextInput type="email" autoComplete="username" required label={t('email')} {...props} />
}
