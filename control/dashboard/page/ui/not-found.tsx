import { Anchor } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { Page } from './page.tsx'
import { Empty } from './states.tsx'

export default function NotFound() {
  const { t } = useTranslation()
  return (
    <Page title={t('notFound')}>
      <Empty title={t('notFoundHint')}>
        <Anchor component={Link} to="/">
          {t('nav.home')}
        </Anchor>
      </Empty>
    </Page>
  )
}
