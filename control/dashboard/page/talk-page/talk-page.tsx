/**
 * The page `/talk`: a call with a project's agent, without a login. It takes a URL and token from the fragment, as an
 * app would get them from its own server; without them it creates the session with an API key.
 */
import { Alert, Container, Stack, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { useState, useSyncExternalStore } from 'react'
import { useTranslation } from 'react-i18next'
import { apiWithKey } from '../api/client.ts'
import { TalkStore } from '../talk/dialogues.ts'
import { createSession } from '../talk/session.ts'
import { TalkView } from '../talk/view.tsx'
import { givenSeat } from './given-seat.ts'
import { talkPageProblem } from './problem.ts'
import { type Chosen, SessionForm } from './session-form.tsx'

export default function TalkPage() {
  const { t } = useTranslation(['talk-page', 'talk', 'calls'])
  const { t: common } = useTranslation()
  useDocumentTitle(t('title'))
  const [store] = useState(() => new TalkStore(() => {}))
  const talk = useSyncExternalStore(store.subscribe, store.talk)
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const [keyProblem, setKeyProblem] = useState<unknown>(null)
  const invite = async () => givenSeat ?? createSession(apiWithKey(chosen!.key), { project_id: chosen!.projectId })
  const problem = talk.problem ?? keyProblem
  return (
    <Container component="main" size={640} p="md">
      <Stack>
        <Title order={1} size="h2">
          {t('title')}
        </Title>
        <TalkView
          label={t('title')}
          talk={talk}
          blocked={givenSeat || chosen ? null : t('askKey')}
          problem={
            problem !== null && (
              <Alert color="red" variant="light" role="alert" title={talkPageProblem(t, common, problem)} />
            )
          }
          onStart={() => void store.start(invite).catch(() => {})} // the state reports the error
          onHangUp={store.hangUp}
        >
          {!givenSeat && <SessionForm chosen={chosen} onChoose={setChosen} onProblem={setKeyProblem} />}
        </TalkView>
      </Stack>
    </Container>
  )
}
