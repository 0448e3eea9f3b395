/** Selects the language model, STT and TTS providers. Offline models are the last fallback and are not listed. */
import { Button, Paper, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Section } from '../ui/section.tsx'
import type { LlmDraft, SttDraft, TtsDraft } from './draft.ts'
import { useDraft } from './form.ts'
import { ListButtons } from './list-buttons.tsx'
import { nextKey } from './schema.ts'
import { SecretField } from './secret-field.tsx'

const LLMS = ['scripted', 'openai_compatible', 'anthropic', 'google', 'openai_realtime'] as const
const TEXT_LLMS = ['openai_compatible', 'anthropic', 'google'] as const
const STT = ['deepgram', 'yandex_speechkit'] as const
const VOICES = ['elevenlabs', 'cartesia', 'openai', 'yandex_speechkit'] as const
const MOST = 3

export default function ModelsTab() {
  const { t } = useTranslation('projects')
  const { llm } = useDraft().values
  return (
    <Stack>
      <Section title={t('models.llm')} hint={t('models.llmHint')}>
        <LlmFields path="llm" kinds={LLMS} />
        {llm.provider !== 'scripted' && <Fallbacks />}
      </Section>
      <Section title={t('models.stt')} hint={t('models.sttHint')}>
        <SttProviders />
      </Section>
      <Section title={t('models.voice')} hint={t('models.voiceHint')}>
        <Voices />
      </Section>
    </Stack>
  )
}

type Kind = LlmDraft['provider'] | SttDraft['provider'] | TtsDraft['provider']

/** Vendor names are the same in all languages. */
function ProviderSelect({ path, kinds }: { path: string; kinds: readonly Kind[] }) {
  const { t } = useTranslation('projects')
  return (
    <Select
      allowDeselect={false}
      label={t('fields.provider')}
      data={kinds.map(value => ({ value, label: t(`kinds.${value}`) }))}
      {...useDraft().getInputProps(`${path}.provider`)}
    />
  )
}

/** Optional: left blank, the provider's default applies. */
function ModelInput({ path }: { path: string }) {
  const { t } = useTranslation('projects')
  return (
    <TextInput
      maxLength={200}
      label={t('fields.model')}
      placeholder={t('models.itsBest')}
      {...useDraft().getInputProps(`${path}.model`)}
    />
  )
}

interface LlmFieldsProps {
  path: string
  kinds: readonly LlmDraft['provider'][]
}

function LlmFields({ path, kinds }: LlmFieldsProps) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const provider = form.getInputProps(`${path}.provider`).value as LlmDraft['provider']
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'start' }}>
        <ProviderSelect path={path} kinds={kinds} />
        {provider !== 'scripted' && (
          <TextInput required maxLength={200} label={t('fields.model')} {...form.getInputProps(`${path}.model`)} />
        )}
        {provider === 'openai_compatible' && (
          <TextInput
            required
            type="url"
            label={t('fields.base_url')}
            placeholder="https://api.openai.com/v1"
            {...form.getInputProps(`${path}.base_url`)}
          />
        )}
        {provider === 'openai_realtime' && (
          <TextInput maxLength={200} label={t('fields.model_voice')} {...form.getInputProps(`${path}.voice`)} />
        )}
      </SimpleGrid>
      {(provider === 'scripted' || provider === 'openai_realtime') && (
        <Text size="sm" c="dimmed">
          {t(`hints.${provider}`)}
        </Text>
      )}
      {provider !== 'scripted' && (
        <SecretField path={`${path}.api_key_secret`} required={provider !== 'openai_compatible'} />
      )}
    </>
  )
}

interface ProvidersProps {
  path: 'llm_fallback' | 'speech_to_text' | 'text_to_speech'
  /** Title of an entry. */
  title: (index: number) => string
  add: string
  fresh: () => LlmDraft | SttDraft | TtsDraft
  children: (path: string, index: number) => ReactNode
}

/** A list of providers in fallback order: each is used if the previous one fails. */
function Providers({ path, title, add, fresh, children }: ProvidersProps) {
  const form = useDraft()
  const list = form.values[path]
  return (
    <Stack gap="sm">
      {list.map(({ key }, index) => (
        <Paper key={key} withBorder p="sm" role="group" aria-label={title(index)}>
          <Stack gap="sm">
            <SimpleGrid cols={2}>
              <Text fw={600} size="sm">
                {title(index)}
              </Text>
              <div style={{ justifySelf: 'end' }}>
                <ListButtons path={path} index={index} count={list.length} name={title(index)} ordered />
              </div>
            </SimpleGrid>
            {children(`${path}.${index}`, index)}
          </Stack>
        </Paper>
      ))}
      {list.length < MOST && (
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => form.insertListItem(path, fresh())}
          style={{ alignSelf: 'flex-start' }}
        >
          {add}
        </Button>
      )}
    </Stack>
  )
}

const blank = () => ({ key: nextKey(), base_url: '', model: '', voice: '', api_key_secret: '' })

function Fallbacks() {
  const { t } = useTranslation('projects')
  return (
    <Providers
      path="llm_fallback"
      title={index => t('models.fallback', { place: index + 1 })}
      add={t('models.addFallback')}
      fresh={() => ({ ...blank(), provider: 'openai_compatible' })}
    >
      {path => <LlmFields path={path} kinds={TEXT_LLMS} />}
    </Providers>
  )
}

function SttProviders() {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const list = form.values.speech_to_text
  return (
    <Providers
      path="speech_to_text"
      title={index => t('models.provider', { place: index + 1 })}
      add={t('models.addStt')}
      fresh={() => ({ key: nextKey(), provider: 'deepgram', model: '', api_key_secret: '' })}
    >
      {(path, index) => (
        <>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <ProviderSelect path={path} kinds={STT} />
            {list[index]?.provider === 'deepgram' && <ModelInput path={path} />}
          </SimpleGrid>
          <SecretField path={`${path}.api_key_secret`} required />
        </>
      )}
    </Providers>
  )
}

function Voices() {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const list = form.values.text_to_speech
  return (
    <>
      <Providers
        path="text_to_speech"
        title={index => t('models.provider', { place: index + 1 })}
        add={t('models.addVoice')}
        fresh={() => ({ key: nextKey(), provider: 'elevenlabs', model: '', voice: '', api_key_secret: '' })}
      >
        {(path, index) => (
          <>
            <SimpleGrid cols={{ base: 1, sm: 3 }}>
              <ProviderSelect path={path} kinds={VOICES} />
              <TextInput
                required
                maxLength={200}
                label={t('fields.model_voice')}
                {...form.getInputProps(`${path}.voice`)}
              />
              {list[index]?.provider !== 'yandex_speechkit' && <ModelInput path={path} />}
            </SimpleGrid>
            <SecretField path={`${path}.api_key_secret`} required />
          </>
        )}
      </Providers>
      <TextInput
        maxLength={200}
        maw={420}
        label={t('fields.voice')}
        description={t('hints.voice')}
        {...form.getInputProps('voice')}
      />
    </>
  )
}
