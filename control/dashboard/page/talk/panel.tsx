/** The talk panel for a project. */
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Given, type GivenValues, givenBody } from '../conversation/given.tsx'
import { Refusal } from '../conversation/refusal.tsx'
import { Ended } from './ended.tsx'
import { useDialogue } from './use-dialogue.ts'
import { TalkView } from './view.tsx'

/** Fills its container. */
export function TalkPanel({ projectId }: { projectId: string }) {
  // Loads `calls` now: a namespace that is loaded when the call ends would hide the panel and take its focus.
  const { t } = useTranslation(['talk', 'calls'])
  const talk = useDialogue(projectId)
  const [given, setGiven] = useState<GivenValues>({ task: '', vars: {} })
  return (
    <TalkView
      label={t('title')}
      talk={talk}
      problem={talk.problem !== null && <Refusal error={talk.problem} projectId={projectId} />}
      footer={
        talk.ended && (
          <Ended reason={talk.problem === null ? talk.ended.reason : null} call={talk.callId} ready={talk.isStored} />
        )
      }
      onStart={() => talk.start({ project_id: projectId, ...givenBody(given) })}
      onHangUp={talk.hangUp}
    >
      <Given projectId={projectId} values={given} onChange={setGiven} />
    </TalkView>
  )
}

export default TalkPanel
