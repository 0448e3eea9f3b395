/** The second factor: codes of an app, passkeys, recovery codes, and the requirement of the account. */
import { Badge, Button, Group, Stack, Switch, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, sessionQuery } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { ConfirmButton } from '../ui/confirm.tsx'
import { CopyBlock } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { dateTime } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Section } from '../ui/section.tsx'
import { Answered, ProblemAlert } from '../ui/states.tsx'
import { AddPasskey } from './add-passkey.tsx'
import { canUsePasskeys } from './passkey.ts'
import { ProofForm } from './proof-form.tsx'
import { secondFactorQuery } from './queries.ts'
import { SetUpTotp } from './set-up-totp.tsx'

type Factor = Schemas['SecondFactor']
type Dialogs = 'totp' | 'totpOff' | 'passkey' | 'recovery'

export function SecondFactor() {
  const { t } = useTranslation('account')
  const factor = useQuery(secondFactorQuery)
  return (
    <Section title={t('second.title')} hint={t('second.lead')}>
      <Answered of={factor}>{data => <Parts factor={data} />}</Answered>
    </Section>
  )
}

function Parts({ factor }: { factor: Factor }) {
  const { t } = useTranslation('account')
  const client = useQueryClient()
  const [open, setOpen] = useState<Dialogs | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const close = () => setOpen(null)
  const done = (recovery: readonly string[] | undefined) => {
    close()
    setCodes(recovery ?? null)
    return client.invalidateQueries({ queryKey: ['second-factor'] })
  }
  const turnOff = async (body: { password: string }) => {
    await must(api.POST('/v1/public/second-factor/totp/disable', { body }))
    await done(undefined)
    notify(t('second.totpOff'))
  }
  const renew = async (body: { password: string }) =>
    done((await must(api.POST('/v1/public/second-factor/recovery-codes', { body }))).recovery_codes)
  return (
    <Stack>
      <Totp on={factor.totp} onOpen={setOpen} />
      <Passkeys passkeys={factor.passkeys} onAdd={() => setOpen('passkey')} />
      {(factor.totp || factor.passkeys.length > 0) && (
        <Group justify="space-between">
          <Text>{t('second.recoveryLeft', { count: factor.recovery_codes_left })}</Text>
          <Button variant="default" onClick={() => setOpen('recovery')}>
            {t('second.renew')}
          </Button>
        </Group>
      )}
      <Requirement required={factor.required} />
      <Dialog opened={open === 'totp'} onClose={close} title={t('second.setUpTotp')} centered>
        <SetUpTotp onDone={done} onCancel={close} />
      </Dialog>
      <Dialog opened={open === 'totpOff'} onClose={close} title={t('second.turnOffTotp')} centered>
        <ProofForm submit={t('second.turnOff')} onProof={turnOff} onCancel={close} />
      </Dialog>
      <Dialog opened={open === 'passkey'} onClose={close} title={t('second.addPasskey')} centered>
        <AddPasskey onDone={done} onCancel={close} />
      </Dialog>
      <Dialog opened={open === 'recovery'} onClose={close} title={t('second.renew')} centered>
        <ProofForm submit={t('second.renew')} onProof={renew} onCancel={close} />
      </Dialog>
      <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />
    </Stack>
  )
}

function Totp({ on, onOpen }: { on: boolean; onOpen: (dialog: Dialogs) => void }) {
  const { t } = useTranslation('account')
  return (
    <Group justify="space-between">
      <Group gap="xs">
        <Text>{t('second.totp')}</Text>
        <Badge tt="none" color={on ? 'green' : 'gray'} variant="dot">
          {t(on ? 'second.on' : 'second.off')}
        </Badge>
      </Group>
      <Button variant="default" onClick={() => onOpen(on ? 'totpOff' : 'totp')}>
        {t(on ? 'second.turnOffTotp' : 'second.setUpTotp')}
      </Button>
    </Group>
  )
}

function Passkeys({ passkeys, onAdd }: { passkeys: Factor['passkeys']; onAdd: () => void }) {
  const { t } = useTranslation('account')
  const client = useQueryClient()
  const remove = (passkey_id: string) => async () => {
    const params = { path: { passkey_id } }
    await must(api.DELETE('/v1/public/second-factor/passkeys/{passkey_id}', { params }))
    await client.invalidateQueries({ queryKey: ['second-factor'] })
    notify(t('second.passkeyGone'))
  }
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text>{t('second.passkeys')}</Text>
        <Button variant="default" onClick={onAdd} disabled={!canUsePasskeys()}>
          {t('second.addPasskey')}
        </Button>
      </Group>
      {!canUsePasskeys() && (
        <Text size="sm" c="dimmed">
          {t('second.noPasskeys')}
        </Text>
      )}
      {passkeys.map(({ id, name, last_used_at, created_at }) => (
        <Group key={id} justify="space-between">
          <Text size="sm">
            {name} · {dateTime(last_used_at ?? created_at)}
          </Text>
          <ConfirmButton
            size="compact-sm"
            label={t('second.removePasskey', { name })}
            title={t('second.removePasskey', { name })}
            action={t('second.remove')}
            onConfirm={remove(id)}
          >
            <Text>{t('second.removeHint')}</Text>
          </ConfirmButton>
        </Group>
      ))}
    </Stack>
  )
}

function Requirement({ required }: { required: boolean }) {
  const { t } = useTranslation('account')
  const client = useQueryClient()
  const { data: session } = useQuery(sessionQuery)
  const change = useMutation({
    mutationFn: (next: boolean) => must(api.PATCH('/v1/public/second-factor', { body: { required: next } })),
    onSuccess: next => client.setQueryData(secondFactorQuery.queryKey, next),
  })
  if (session?.role !== 'owner' && session?.role !== 'admin') return null
  return (
    <Stack gap="xs">
      <Switch
        label={t('second.require')}
        description={t('second.requireHint')}
        checked={required}
        disabled={change.isPending}
        onChange={({ currentTarget }) => change.mutate(currentTarget.checked)}
      />
      <ProblemAlert error={change.error} />
    </Stack>
  )
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[] | null; onClose: () => void }) {
  const { t } = useTranslation('account')
  return (
    <Dialog
      opened={codes !== null}
      onClose={onClose}
      title={t('second.recovery')}
      centered
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Text size="sm">{t('second.recoveryHint')}</Text>
        <CopyBlock value={(codes ?? []).join('\n')} label={t('second.recovery')} />
        <Button onClick={onClose}>{t('second.kept')}</Button>
      </Stack>
    </Dialog>
  )
}
