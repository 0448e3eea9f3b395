/** What was typed is not lost by a click: asks before another page is opened, or the browser's own is closed. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { useBlocker } from 'react-router'
import { useEditing } from './form.ts'

/** Of a page that is left because its project is deleted: there is nothing to save any more. */
export const GONE = { gone: true }
const isGone = (state: unknown) => (state as typeof GONE | null)?.gone === true

export function Leaving() {
  const { t } = useTranslation('projects')
  const { dirty, save, saving } = useEditing()
  // The tabs of the editor are in the address too, and lose nothing.
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
