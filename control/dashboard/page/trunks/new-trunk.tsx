/** Creates a trunk, from a carrier preset or from empty settings. */
import { Alert, Paper, Select, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { notify } from '../ui/notify.ts'
import { namedOptions } from '../ui/options.ts'
import { Page } from '../ui/page.tsx'
import { type Preset, type PresetId, presetOf, presets } from './presets.ts'
import { trunksChanged } from './queries.ts'
import { TrunkForm } from './trunk-form.tsx'
import { bodyOf, emptyValues, type TrunkValues } from './values.ts'

const kinds = ['world', 'russia', 'pbx'] as const satisfies Preset['kind'][]

export default function NewTrunk() {
  const { t } = useTranslation('trunks')
  const navigate = useNavigate()
  const [chosen, setChosen] = useState<PresetId | null>(null)
  const preset = presetOf(chosen)
  const create = async (values: TrunkValues) => {
    const trunk = await must(api.POST('/v1/public/trunks', { body: bodyOf(values) }))
    await trunksChanged()
    notify(t('new.created', { name: trunk.name }))
    navigate(`/trunks/${trunk.id}?check=1`)
    return undefined
  }
  return (
    <Page title={t('new.title')}>
      <Stack maw={760}>
        <Paper withBorder p="md">
          <Stack gap="sm">
            <Select
              label={t('new.preset')}
              description={t('new.presetHint')}
              placeholder={t('new.other')}
              data={kinds.map(kind => ({
                group: t(`kinds.${kind}`),
                items: namedOptions(presets.filter(one => one.kind === kind)),
              }))}
              value={chosen}
              onChange={id => setChosen(id as PresetId | null)}
              searchable
              clearable
              clearButtonProps={{ 'aria-label': t('new.clear') }}
              nothingFoundMessage={t('new.notFound')}
            />
            {preset && (
              <Alert variant="light" color="blue" role="status" title={t('new.hint', { name: preset.name })}>
                <Text size="sm">{t(`presets.${preset.id}`)}</Text>
                <Text size="xs" c="dimmed" mt={4}>
                  {t('new.asOf')}
                </Text>
              </Alert>
            )}
          </Stack>
        </Paper>
        <Title order={2} size="h4">
          {t('trunk.settings')}
        </Title>
        <TrunkForm
          // Choosing a preset resets the form, so that settings of two carriers never mix.
          key={chosen}
          initial={{ ...emptyValues, name: preset?.name ?? '', ...preset?.values }}
          hostLike={preset?.hostLike}
          action={t('new.save')}
          onSave={create}
        />
      </Stack>
    </Page>
  )
}
