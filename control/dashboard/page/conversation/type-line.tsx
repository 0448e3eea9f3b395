/** A text input for typed messages. */
import { Button, Group, Input, TextInput } from '@mantine/core'
import { type FormEvent, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'

const LONGEST = 2000

export function TypeLine({ label, onSend }: { label: string; onSend: (text: string) => unknown }) {
  const { t } = useTranslation('talk')
  const id = useId()
  const [text, setText] = useState('')
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === '') return
    onSend(text.trim())
    setText('')
  }
  return (
    <form onSubmit={send}>
      <Input.Wrapper label={label} labelProps={{ htmlFor: id }}>
        <Group gap="xs" wrap="nowrap">
          <TextInput
            id={id}
            flex={1}
            value={text}
            maxLength={LONGEST}
            autoComplete="off"
            onChange={event => setText(event.currentTarget.value)}
          />
          <Button type="submit" variant="default">
            {t('send')}
          </Button>
        </Group>
      </Input.Wrapper>
    </form>
  )
}
