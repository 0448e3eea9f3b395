import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { useTranslation } from 'react-i18next'

export function Password(props: PasswordInputProps) {
  const { t } = useTranslation()
  return <PasswordInput {...props} visibilityToggleButtonProps={{ 'aria-label': t('showHide'), tabIndex: 0 }} />
}
