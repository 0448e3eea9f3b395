/** Says that outgoing calls are stopped, and why; a manager resumes them. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { limitsQuery, must, queryClient, sessionQuery } from '../api/queries.ts'
import { Notice } from '../ui/notice.tsx'
import { notify } from '../ui/notify.ts'
import { ProblemAlert } from '../ui/states.tsx'

export function Stopped() {
  const { t } = useTranslation('account')
  const { data: limits } = useQuery(limitsQuery)
  const { data: session } = useQuery(sessionQuery)
  const resume = useMutation({
    mutationFn: () => must(api.POST('/v1/public/limits/resume')),
    onSuccess(next) {
      queryClient.setQueryData(limitsQuery.queryKey, next)
      notify(t('stopped.resumed'))
    },
  })
  if (!limits?.stopped) return null
  const { reason, countries, spent, usual } = limits.stopped
  const isManager = session?.role === 'owner' || session?.role === 'admin'
  return (
    <Notice title={t('stopped.title')} color="red" role="alert">
      <Stack gap="xs">
        <Text size="sm">
          {reason === 'new_countries'
            ? t('stopped.countries', { countries: (countries ?? []).join(', ') })
            : t('stopped.spending', { spent, usual })}
        </Text>
        <Text size="sm">{t('stopped.hint')}</Text>
        <ProblemAlert error={resume.error} />
        {isManager && (
          <Group>
            <Button loading={resume.isPending} onClick={() => resume.mutate()}>
              {t('stopped.resume')}
            </Button>
          </Group>
        )}
      </Stack>
    </Notice>
  )
}
