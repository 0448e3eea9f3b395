/** Text fields that highlight `{{variable}}` placeholders. */
import { Badge, Code, Group, Stack, Text, Textarea } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { oddOf, piecesOf, varsOf } from '../conversation/vars.ts'
import { useDraft } from './form.ts'

interface FieldProps {
  path: string
  label: string
  hint?: string
  required?: boolean
  minRows?: number
  maxLength?: number
  /** Name of a placeholder that is not a call variable. */
  except?: string
}

const TEXT_MAX = 32_000

export function TextField({ path, label, hint, required, minRows = 2, maxLength = TEXT_MAX, except }: FieldProps) {
  const form = useDraft()
  const { value, ...props } = form.getInputProps(path)
  return (
    <Stack gap={6}>
      <Textarea
        label={label}
        description={hint}
        required={required}
        autosize
        minRows={minRows}
        maxLength={maxLength}
        value={value}
        {...props}
        inputContainer={field => (
          <div className="prompt">
            <Below text={value} />
            {field}
          </div>
        )}
      />
      <Vars text={value} except={except} />
    </Stack>
  )
}

function Below({ text }: { text: string }) {
  return (
    <div className="prompt-below" aria-hidden>
      {piecesOf(text).map((piece, index) =>
        piece.kind === 'plain' ? (
          piece.text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their index
          <mark key={index} className={piece.kind}>
            {piece.text}
          </mark>
        ),
      )}
    </div>
  )
}

function Vars({ text, except }: { text: string; except?: string }) {
  const { t } = useTranslation('projects')
  const vars = varsOf(text).filter(name => name !== except)
  const odd = oddOf(text)
  return (
    <>
      {vars.length > 0 && (
        <Group gap={6}>
          <Text size="xs" c="dimmed">
            {t('vars.filled')}
          </Text>
          {vars.map(name => (
            <Badge key={name} variant="default" tt="none" fw={500}>
              {name}
            </Badge>
          ))}
        </Group>
      )}
      {odd.length > 0 && (
        <Text size="xs" c="dimmed">
          {t('vars.odd')}{' '}
          {odd.map(one => (
            <Code key={one} mr={4}>
              {one}
            </Code>
          ))}
        </Text>
      )}
    </>
  )
}
