/** Asks for confirmation before unsaved changes are lost by navigation or by closing the page. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { useBlocker } from 'react-router'
import { useEditing } from './form.ts'

/** Navigation state set after the project was deleted: there is nothing left to save. */
export const GONE = { gone: true }
const isGone = (state: unknown) => (state as typeof GONE | null)?.gone === true

export function Leaving() {
  const { t } = useTranslation('projects')
  const { dirty, save, saving } = useEditing()
  // Switching editor tabs changes the URL too, but loses nothing.
  const blocker = useBlocker(({ currentLocation, nextLocation }) => {
    return dirty && currentLocation.pathname !== nextLocation.pathname && !isGone(nextLocation.state)
  })
  useWindowEvent('beforeunload', event => {
    if (dirty) event.preventDefault()
  })
  const stay = () => blocker.reset?.()
  const saveAndLeave = async () => {
    if (await save()) blocker.proceed?.()
    else stay()
  }
  return (
    <Modal
      opened={blocker.state === 'blocked'}
      onClose={stay}
      title={t('leaving.title')}
      centered
      withCloseButton={false}
    >
      <Stack>
        <Text>{t('leaving.text')}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={stay} data-autofocus>
            {t('leaving.stay')}
          </Button>
          <Button color="red" variant="outline" onClick={() => blocker.proceed?.()}>
            {t('leaving.leave')}
          </Button>
          <Button loading={saving} onClick={saveAndLeave}>
            {t('leaving.save')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
