import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, ParleyError } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { notify } from '../ui/notify.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { numbersChanged } from './queries.ts'

const CODE = /^\d{6}$/

/** Starts a verification call, then takes the code that it spoke. */
export function VerifyNumber({ number, onClose }: { number: string; onClose: () => void }) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const [code, setCode] = useState('')
  const params = { path: { number } }
  const call = useMutation({
    mutationFn: () => must(api.POST('/v1/public/numbers/{number}/verification', { params, body: {} })),
  })
  const confirm = useMutation({
    mutationFn: () => must(api.POST('/v1/public/numbers/{number}/verification/confirm', { params, body: { code } })),
    async onSuccess() {
      await numbersChanged()
      notify(t('verify.done', { number }))
      onClose()
    },
  })
  const refusal = confirm.error instanceof ParleyError ? confirm.error.problem.errors?.[0]?.code : undefined
  const wrong = refusal === 'wrong_code' || refusal === 'no_verification' ? t(`verify.${refusal}`) : null
  return (
    <Dialog opened onClose={onClose} title={t('verify.title', { number })} centered>
      <Stack>
        <Text size="sm">{t(call.isSuccess ? 'verify.called' : 'verify.text')}</Text>
        {call.isSuccess && (
          <TextInput
            label={t('verify.code')}
            value={code}
            onChange={event => setCode(event.currentTarget.value.trim())}
            error={wrong}
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={6}
            data-autofocus
          />
        )}
        <ProblemAlert error={call.error ?? (wrong === null ? confirm.error : null)} />
        <Group justify="flex-end">
          <Button
            variant={call.isSuccess ? 'default' : 'filled'}
            loading={call.isPending}
            onClick={() => call.mutate()}
          >
            {t(call.isSuccess ? 'verify.again' : 'verify.call')}
          </Button>
          {call.isSuccess && (
            <Button disabled={!CODE.test(code)} loading={confirm.isPending} onClick={() => confirm.mutate()}>
              {t('verify.confirm')}
            </Button>
          )}
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
