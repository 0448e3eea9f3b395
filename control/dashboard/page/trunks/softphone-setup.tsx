/** Shows the password of a softphone, which is available only once, with setup instructions for common apps. */
import { Alert, Button, Code, Group, List, Select, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../api/types.ts'
import { CopyBlock, CopyIcon } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'

type Made = Schemas['SoftphoneCreated']

const programs = ['linphone', 'microsip', 'baresip', 'other'] as const
type Program = (typeof programs)[number]

const serverOf = ({ settings }: Made) =>
  `${settings.server.includes(':') ? `[${settings.server}]` : settings.server}:${settings.port}`

/** A line of baresip's `accounts` file. */
const baresipLine = (made: Made) =>
  `<sip:${made.username}@${serverOf(made)};transport=${made.settings.transports[0] ?? 'udp'}>;auth_pass=${made.password}`

export function SoftphoneSetup({ made, onClose }: { made: Made; onClose: () => void }) {
  const { t } = useTranslation('trunks')
  const [program, setProgram] = useState<Program>('linphone')
  const { settings } = made
  const transports = settings.transports.map(one => one.toUpperCase())
  const rows = [
    ['server', serverOf(made)],
    ['username', made.username],
    ['password', made.password ?? ''],
    ['transport', transports.join(', ')],
    ['dial', settings.dial],
  ] as const
  return (
    <Dialog
      opened
      onClose={onClose}
      size="lg"
      title={t('setup.title', { name: made.name })}
      centered
      closeOnClickOutside={false}
    >
      <Stack>
        <Alert color="blue" variant="light">
          {t('setup.once')}
        </Alert>
        <Table aria-label={t('setup.settings')}>
          <Table.Tbody>
            {rows.map(([what, value]) => (
              <Table.Tr key={what}>
                <Table.Th scope="row">{t(`setup.${what}`)}</Table.Th>
                <Table.Td>
                  <Code fz="sm">{value}</Code>
                </Table.Td>
                <Table.Td w={40}>
                  <CopyIcon value={value} label={t('setup.copy', { what: t(`setup.${what}`) })} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Select
          label={t('setup.program')}
          data={programs.map(value => ({ value, label: t(`programs.${value}`) }))}
          value={program}
          onChange={value => setProgram((value ?? 'other') as Program)}
          allowDeselect={false}
        />
        <Steps program={program} made={made} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('setup.done')}</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

function Steps({ program, made }: { program: Program; made: Made }) {
  const { t } = useTranslation('trunks')
  const words = { server: serverOf(made), user: made.username, dial: made.settings.dial }
  const steps = t(`steps.${program}`, { ...words, returnObjects: true }) as string[]
  return (
    <Stack gap="xs">
      <List type="ordered" size="sm">
        {steps.map(step => (
          <List.Item key={step}>{step}</List.Item>
        ))}
      </List>
      {program === 'baresip' && <CopyBlock value={baresipLine(made)} label={t('setup.line')} />}
      <Text size="sm">{t('setup.test', words)}</Text>
    </Stack>
  )
}
