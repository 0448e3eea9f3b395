/** Routes. Each page is loaded on its first visit. */
import { createBrowserRouter, type RouteObject } from 'react-router'
import { isTalkPage } from '../talk-page/given-seat.ts'
import { Broken } from '../ui/states.tsx'
import { Shell } from './shell.tsx'

const page = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
})

export const router = createBrowserRouter(
  [
    {
      ErrorBoundary: Broken,
      children: [
        // The only page outside of `/dashboard`. It needs no login, and nothing links from it to the others.
        ...(isTalkPage ? [page('talk', () => import('../talk-page/talk-page.tsx'))] : []),
        page('log-in', () => import('../account/log-in.tsx')),
        page('sign-up', () => import('../account/sign-up.tsx')),
        page('password', () => import('../account/reset.tsx')),
        page('invitation', () => import('../account/invitation.tsx')),
        {
          Component: Shell,
          children: [
            {
              ErrorBoundary: Broken,
              children: [
                { index: true, ...page('', () => import('../home/home.tsx')), path: undefined } as RouteObject,
                page('account', () => import('../account/account.tsx')),
                page('calls', () => import('../calls/calls.tsx')),
                page('calls/:callId', () => import('../calls/call.tsx')),
                page('access/:tab?', () => import('../access/access.tsx')),
                page('access/webhooks/:webhookId', () => import('../access/webhook.tsx')),
                page('balance', () => import('../balance/balance.tsx')),
                page('leads', () => import('../leads/leads.tsx')),
                page('leads/new', () => import('../leads/new-search.tsx')),
                page('leads/:jobId', () => import('../leads/job.tsx')),
                page('team', () => import('../team/team.tsx')),
                page('trunks', () => import('../trunks/trunks.tsx')),
                page('trunks/new', () => import('../trunks/new-trunk.tsx')),
                page('trunks/:id', () => import('../trunks/trunk.tsx')),
                page('projects', () => import('../projects/projects.tsx')),
                page('projects/:id', () => import('../projects/editor.tsx')),
                page('campaigns', () => import('../campaigns/campaigns.tsx')),
                page('campaigns/new', () => import('../campaigns/new.tsx')),
                page('campaigns/:campaign_id', () => import('../campaigns/campaign.tsx')),
                page('contacts', () => import('../contacts/contacts.tsx')),
                page('contacts/:contact_id', () => import('../contacts/contact.tsx')),
                page('data/:tab?', () => import('../data/data.tsx')),
                page('do-not-call', () => import('../do-not-call/do-not-call.tsx')),
                page('*', () => import('../ui/not-found.tsx')),
              ],
            },
          ],
        },
      ],
    },
  ],
  { basename: isTalkPage ? '/' : '/dashboard' },
)
