import { Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { createPasskey } from './passkey.ts'
import { type Proof, ProofForm } from './proof-form.tsx'

interface AddPasskeyProps {
  /** Receives recovery codes when this is the first second factor. */
  onDone: (recovery: readonly string[] | undefined) => Promise<unknown>
  onCancel: () => void
}

export function AddPasskey({ onDone, onCancel }: AddPasskeyProps) {
  const { t } = useTranslation('account')
  const [name, setName] = useState('')
  const add = async (body: Proof) => {
    const options = await must(api.POST('/v1/public/second-factor/passkeys/options', { body }))
    const response = await createPasskey(options)
    const named = { name: name.trim() || t('second.passkey'), response }
    await onDone((await must(api.POST('/v1/public/second-factor/passkeys', { body: named }))).recovery_codes)
  }
  return (
    <Stack>
      <TextInput
        label={t('second.passkeyName')}
        maxLength={100}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <ProofForm submit={t('second.addPasskey')} onProof={add} onCancel={onCancel} />
    </Stack>
  )
}
