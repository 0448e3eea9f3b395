import { Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { renderSVG } from 'uqr'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { CopyBlock } from '../ui/copy.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import { type Proof, ProofForm } from './proof-form.tsx'

interface StepsProps {
  /** Receives recovery codes when this is the first second factor. */
  onDone: (recovery: readonly string[] | undefined) => Promise<unknown>
  onCancel: () => void
}

export function SetUpTotp({ onDone, onCancel }: StepsProps) {
  const { t } = useTranslation('account')
  const [uri, setUri] = useState<string | null>(null)
  const start = async (body: Proof) =>
    setUri((await must(api.POST('/v1/public/second-factor/totp', { body }))).uri ?? null)
  if (uri === null) return <ProofForm submit={t('second.next')} onProof={start} onCancel={onCancel} />
  return <Confirm uri={uri} onDone={onDone} onCancel={onCancel} />
}

function Confirm({ uri, onDone, onCancel }: StepsProps & { uri: string }) {
  const { t } = useTranslation('account')
  const form = useForm({ mode: 'uncontrolled', initialValues: { code: '' } })
  const confirm = useMutation({
    mutationFn: (body: { code: string }) => must(api.POST('/v1/public/second-factor/totp/confirm', { body })),
    gcTime: 0,
    onSuccess: ({ recovery_codes }) => onDone(recovery_codes),
  })
  const image = `data:image/svg+xml;utf8,${encodeURIComponent(renderSVG(uri))}`
  return (
    <form onSubmit={form.onSubmit(values => confirm.mutate(values))}>
      <Stack>
        <Text size="sm">{t('second.scan')}</Text>
        <img src={image} alt={t('second.qr')} width={200} height={200} style={{ alignSelf: 'center' }} />
        <CopyBlock value={new URL(uri).searchParams.get('secret') ?? ''} label={t('second.secret')} />
        <TextInput
          required
          data-autofocus
          inputMode="numeric"
          autoComplete="one-time-code"
          label={t('second.firstCode')}
          {...form.getInputProps('code')}
        />
        <FormEnd submit={t('second.finish')} error={confirm.error} busy={confirm.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  )
}
