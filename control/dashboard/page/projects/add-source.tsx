/** Adds a knowledge source: a text, a web page or site, or files. */
import { Button, NumberInput, SegmentedControl, Stack, Switch, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { paths } from '../../../api/client/api.ts'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { knowledgeQuery } from '../api/projects.ts'
import { must, queryClient } from '../api/queries.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { DropFiles } from './drop-files.tsx'

const WAYS = ['text', 'site', 'files'] as const
type Way = (typeof WAYS)[number]
const PAGES = 15

export function AddSource({ projectId }: { projectId: string }) {
  const { t } = useTranslation('projects')
  const [way, setWay] = useState<Way>('text')
  return (
    <Stack>
      <SegmentedControl
        value={way}
        onChange={value => setWay(value as Way)}
        data={WAYS.map(value => ({ value, label: t(`knowledge.add.${value}`) }))}
        aria-label={t('knowledge.add.title')}
        style={{ alignSelf: 'flex-start' }}
      />
      {way === 'text' && <AddText projectId={projectId} />}
      {way === 'site' && <AddSite projectId={projectId} />}
      {way === 'files' && <DropFiles projectId={projectId} />}
    </Stack>
  )
}

type Body = paths['/v1/public/projects/{project_id}/knowledge']['post']['requestBody']['content']['application/json']

function useAdd(projectId: string, onAdded: () => void, onError: (errors: Record<string, string>) => void) {
  const { t: common } = useTranslation()
  return useMutation({
    mutationFn: (body: Body) =>
      must(
        api.POST('/v1/public/projects/{project_id}/knowledge', { params: { path: { project_id: projectId } }, body }),
      ),
    async onSuccess() {
      onAdded()
      await queryClient.invalidateQueries({ queryKey: knowledgeQuery(projectId).queryKey })
    },
    onError: error => onError(fieldErrors(common, error)),
  })
}

const titled = (title: string) => (title.trim() === '' ? {} : { title: title.trim() })

function AddText({ projectId }: { projectId: string }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useForm({
    initialValues: { title: '', content: '' },
    validate: { content: content => (content.trim() === '' ? t('faults.required') : null) },
  })
  const add = useAdd(projectId, form.reset, form.setErrors)
  const send = ({ title, content }: typeof form.values) => add.mutate({ type: 'text', content, ...titled(title) })
  return (
    <form noValidate onSubmit={form.onSubmit(send)}>
      <Stack gap="sm">
        <TextInput
          maxLength={200}
          label={common('name')}
          description={t('knowledge.add.titleHint')}
          {...form.getInputProps('title')}
        />
        <Textarea
          required
          autosize
          minRows={4}
          maxRows={20}
          label={t('knowledge.add.content')}
          description={t('knowledge.add.contentHint')}
          {...form.getInputProps('content')}
        />
        <ProblemAlert error={add.error} />
        <Button type="submit" variant="default" loading={add.isPending} style={{ alignSelf: 'flex-start' }}>
          {common('add')}
        </Button>
      </Stack>
    </form>
  )
}

interface SiteValues {
  title: string
  url: string
  crawl: boolean
  max_pages: number | ''
}

function AddSite({ projectId }: { projectId: string }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useForm<SiteValues>({
    initialValues: { title: '', url: '', crawl: false, max_pages: PAGES },
    validate: { url: url => (/^https?:\/\//i.test(url) && URL.canParse(url) ? null : t('faults.url')) },
  })
  const add = useAdd(projectId, form.reset, form.setErrors)
  const send = ({ title, url, crawl, max_pages }: SiteValues) => {
    const whole = crawl ? { crawl, max_pages: max_pages === '' ? PAGES : max_pages } : {}
    add.mutate({ type: 'url', url, ...titled(title), ...whole })
  }
  return (
    <form noValidate onSubmit={form.onSubmit(send)}>
      <Stack gap="sm">
        <TextInput
          required
          type="url"
          maxLength={2048}
          label={t('knowledge.add.url')}
          placeholder="https://example.com/help"
          {...form.getInputProps('url')}
        />
        <TextInput
          maxLength={200}
          label={common('name')}
          description={t('knowledge.add.titleHint')}
          {...form.getInputProps('title')}
        />
        <Switch
          label={t('knowledge.add.crawl')}
          description={t('knowledge.add.crawlHint')}
          {...form.getInputProps('crawl', { type: 'checkbox' })}
        />
        {form.values.crawl && (
          <NumberInput
            maw={200}
            min={1}
            max={50}
            allowDecimal={false}
            label={t('knowledge.add.maxPages')}
            {...form.getInputProps('max_pages')}
          />
        )}
        <ProblemAlert error={add.error} />
        <Button type="submit" variant="default" loading={add.isPending} style={{ alignSelf: 'flex-start' }}>
          {common('add')}
        </Button>
      </Stack>
    </form>
  )
}
