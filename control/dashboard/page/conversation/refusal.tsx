/** Shows why a call can't start, with a link to fix it. */
import { Alert, Anchor, List, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { fieldErrors, type Problem } from '../api/problems.ts'
import { ParleyError } from '../api/queries.ts'
import { talkProblem } from './talk-error.ts'

type Code = Problem['code'] | (string & {})

/** Returns the page that fixes the problem, with the key of its label in `next`. */
function nextStep(code: Code, projectId: string | null) {
  switch (code) {
    case 'insufficient_balance':
    case 'balance_exhausted':
    case 'subscription_inactive':
      return { to: '/balance', word: 'balance' } as const
    case 'no_outbound_line':
      return { to: '/trunks', word: 'trunks' } as const
    case 'do_not_call':
      return { to: '/do-not-call', word: 'doNotCall' } as const
    case 'too_many_calls':
      return { to: '/calls?status=in_progress', word: 'calls' } as const
    case 'project_not_ready':
    case 'model_error':
      return projectId === null ? null : ({ to: `/projects/${projectId}`, word: 'project' } as const)
    default:
      return null
  }
}

interface RefusalProps {
  error: unknown
  projectId: string | null
  /** Paths of fields that show their own errors. */
  shown?: readonly string[]
}

export function Refusal({ error, projectId, shown = [] }: RefusalProps) {
  const { t } = useTranslation(['talk', 'calls'])
  const { t: common } = useTranslation()
  if (!error) return null
  const next = nextStep((error as { code?: string }).code ?? '', projectId)
  const reasons = Object.entries(fieldErrors(common, error)).filter(([path]) => !shown.includes(path))
  const id = error instanceof ParleyError ? error.problem.request_id : null
  return (
    <Alert color="red" variant="light" role="alert" title={talkProblem(t, common, error)}>
      <Stack gap={4} align="flex-start">
        {reasons.length > 0 && (
          <List size="sm">
            {reasons.map(([path, text]) => (
              <List.Item key={path}>{text}</List.Item>
            ))}
          </List>
        )}
        {next && (
          <Anchor component={Link} to={next.to} size="sm">
            {t(`next.${next.word}`)}
          </Anchor>
        )}
        {id && (
          <Text size="xs" c="dimmed">
            {common('problem.request', { id })}
          </Text>
        )}
      </Stack>
    </Alert>
  )
}
