/** The talk panel: beside the settings on wide screens, in a drawer on narrow ones. */
import { Alert, Button, CloseButton, Drawer, Group, Paper, Stack, Title } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { Waiting } from '../ui/states.tsx'
import { useEditing } from './form.ts'

/** The LiveKit client is large, so load it only when the panel opens. */
const TalkPanel = lazy(() => import('../talk/panel.tsx'))

/** From this width on, the settings and the panel fit side by side. */
const WIDE = '(min-width: 75em)'

export const useWide = () => useMediaQuery(WIDE, false, { getInitialValueInEffect: false })

export function TalkBeside({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  if (!useWide()) {
    const close = { 'aria-label': common('close') }
    return (
      <Drawer opened onClose={onClose} position="right" title={t('talk.title')} closeButtonProps={close}>
        <Talking />
      </Drawer>
    )
  }
  return (
    <Paper component="aside" withBorder p="md" w={380} className="talk-beside" aria-label={t('talk.title')}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          {t('talk.title')}
        </Title>
        <CloseButton aria-label={common('close')} onClick={onClose} />
      </Group>
      <Talking />
    </Paper>
  )
}

function Talking() {
  const { t } = useTranslation('projects')
  const { dirty, save, saved, saving } = useEditing()
  return (
    <Stack>
      {dirty && (
        <Alert color="gray" title={t('talk.unsaved')}>
          <Button size="xs" loading={saving} onClick={save}>
            {t('talk.save')}
          </Button>
        </Alert>
      )}
      <Suspense fallback={<Waiting />}>
        <TalkPanel projectId={saved.id} />
      </Suspense>
    </Stack>
  )
}
