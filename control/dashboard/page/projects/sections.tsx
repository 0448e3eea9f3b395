import { Tabs, VisuallyHidden } from '@mantine/core'
import { type ComponentType, lazy, Suspense, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { Waiting } from '../ui/states.tsx'
import { AgentTab } from './agent.tsx'
import { isTab, TABS, type Tab, tabOf, useDraft } from './form.ts'

const panels: Record<Tab, ComponentType> = {
  agent: AgentTab,
  models: lazy(() => import('./models.tsx')),
  goal: lazy(() => import('./goal.tsx')),
  tools: lazy(() => import('./tools.tsx')),
  transfers: lazy(() => import('./transfers.tsx')),
  knowledge: lazy(() => import('./knowledge.tsx')),
  numbers: lazy(() => import('./numbers.tsx')),
  secrets: lazy(() => import('./secrets.tsx')),
}

/** Renders only the open tab; the form keeps the values of the others. */
export function Sections({ tab, onTab }: { tab: string | null; onTab: (tab: string | null) => void }) {
  const { t } = useTranslation('projects')
  const { errors } = useDraft()
  const list = useRef<HTMLDivElement>(null)
  const active = isTab(tab) ? tab : 'agent'
  // The tab list scrolls on a narrow screen: keep the open tab visible.
  useEffect(() => {
    const open = list.current?.querySelector<HTMLElement>(`[data-tab="${active}"]`)
    if (open) list.current?.scrollTo({ left: open.offsetLeft - 48 })
  }, [active])
  const wrong = new Set(Object.keys(errors).map(tabOf))
  return (
    <Tabs value={active} onChange={onTab} keepMounted={false}>
      <Tabs.List ref={list} className="editor-tabs" aria-label={t('sections')}>
        {TABS.map(name => (
          <Tabs.Tab key={name} value={name} data-tab={name} className={wrong.has(name) ? 'wrong' : undefined}>
            {t(`tabs.${name}`)}
            {wrong.has(name) && <VisuallyHidden> ({t('tabs.wrong')})</VisuallyHidden>}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {TABS.map(name => {
        const Panel = panels[name]
        return (
          <Tabs.Panel key={name} value={name} pt="md">
            <Suspense fallback={<Waiting />}>
              <Panel />
            </Suspense>
          </Tabs.Panel>
        )
      })}
    </Tabs>
  )
}
