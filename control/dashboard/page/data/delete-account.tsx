import { Button, List, Paper, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { CodeInput } from '../account/proof-form.tsx'
import { api } from '../api/client.ts'
import { balanceQuery, must, queryClient, sessionQuery } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { money } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { Password } from '../ui/password.tsx'

export function DeleteAccount() {
  const { t } = useTranslation('data')
  const navigate = useNavigate()
  const { data: session } = useQuery(sessionQuery)
  const form = useForm({ initialValues: { password: '', code: '' } })
  const leave = async () => {
    const { password, code } = form.values
    const body = { password, ...(code.trim() === '' ? {} : { code: code.trim() }) }
    await must(api.POST('/auth/delete-account', { body }))
    await navigate('/log-in', { replace: true, state: { closed: true } })
    queryClient.clear()
  }
  return (
    <Paper withBorder p="md" maw={720}>
      <Stack>
        <Text fw={600}>{t('account.lead')}</Text>
        <List size="sm">
          <List.Item>{t('account.now')}</List.Item>
          <List.Item>{t('account.soon')}</List.Item>
          <List.Item>{t('account.stays')}</List.Item>
        </List>
        <MoneyLeft />
        <Confirm
          trigger={ask => (
            <form onSubmit={form.onSubmit(ask)}>
              <Stack align="flex-start">
                <Password
                  required
                  w="100%"
                  maw={360}
                  autoComplete="current-password"
                  label={t('account.password')}
                  {...form.getInputProps('password')}
                />
                <CodeInput maw={360} w="100%" {...form.getInputProps('code')} />
                <Button type="submit" color="red">
                  {t('account.do')}
                </Button>
              </Stack>
            </form>
          )}
          title={t('account.sure')}
          action={t('account.do')}
          onConfirm={leave}
        >
          <Text>{t('account.sureOf', { name: session?.email ?? session?.name ?? '' })}</Text>
        </Confirm>
      </Stack>
    </Paper>
  )
}

function MoneyLeft() {
  const { t } = useTranslation('data')
  const { data } = useQuery(balanceQuery)
  if (!data || Number(data.balance.amount) <= 0) return null
  return (
    <Notice color="orange" title={t('account.balance', { amount: money(data.balance) })}>
      {t('account.balanceHint')}
    </Notice>
  )
}
