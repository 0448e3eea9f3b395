/** The project editor. The tabs share one form and are saved together, except for knowledge, numbers and secrets. */
import { Box, Button, Group, Stack } from '@mantine/core'
import { IconMicrophone } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useParams, useSearchParams } from 'react-router'
import { Page } from '../ui/page.tsx'
import { Answered } from '../ui/states.tsx'
import { DeleteProject } from './delete.tsx'
import type { Project } from './draft.ts'
import { focusField } from './focus.ts'
import { DraftProvider, EditingContext, tabOf } from './form.ts'
import { Leaving } from './leaving.tsx'
import './projects.css'
import { projectQuery } from '../api/projects.ts'
import { SaveBar } from './save-bar.tsx'
import { Sections } from './sections.tsx'
import { TalkBeside } from './talk-beside.tsx'
import { useProjectForm } from './use-editing.ts'

export default function ProjectPage() {
  const { t } = useTranslation('projects')
  const { id = '' } = useParams()
  const project = useQuery(projectQuery(id))
  if (project.data) return <Editor key={id} project={project.data} />
  return (
    <Page title={t('one')}>
      <Answered of={project}>{() => null}</Answered>
    </Page>
  )
}

function Editor({ project }: { project: Project }) {
  const { t } = useTranslation('projects')
  const [params, setParams] = useSearchParams()
  const set = (name: string, value: string | null) =>
    setParams(
      before => {
        const after = new URLSearchParams(before)
        if (value === null) after.delete(name)
        else after.set(name, value)
        return after
      },
      { replace: true },
    )
  const toFault = (path: string) => {
    set('tab', tabOf(path))
    focusField(path)
  }
  const { form, conflicts, error, discard, ...editing } = useProjectForm(project, toFault)
  const talking = params.get('talk') === '1'
  return (
    <DraftProvider form={form}>
      <EditingContext value={editing}>
        <Page
          title={editing.saved.name}
          actions={
            <>
              <DeleteProject project={editing.saved} />
              <Button
                variant={editing.dirty || talking ? 'default' : 'filled'}
                leftSection={<IconMicrophone size={16} aria-hidden />}
                aria-expanded={talking}
                onClick={() => set('talk', talking ? null : '1')}
              >
                {t('talk.action')}
              </Button>
            </>
          }
        >
          <Group align="flex-start" wrap="nowrap" gap="lg">
            <Box flex={1} miw={0}>
              <Stack>
                <Sections tab={params.get('tab')} onTab={tab => set('tab', tab)} />
                <SaveBar conflicts={conflicts} error={error} onDiscard={discard} onFault={toFault} />
              </Stack>
            </Box>
            {talking && <TalkBeside onClose={() => set('talk', null)} />}
          </Group>
          <Leaving />
        </Page>
      </EditingContext>
    </DraftProvider>
  )
}
