/** Every page is loaded when it is first visited. */
import { createBrowserRouter, type RouteObject } from 'react-router'
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
        page('log-in', () => import('../account/log-in.tsx')),
        page('sign-up', () => import('../account/sign-up.tsx')),
        page('password', () => import('../account/reset.tsx')),
        {
          Component: Shell,
          children: [
            {
              ErrorBoundary: Broken,
              children: [
                { index: true, ...page('', () => import('../home/home.tsx')), path: undefined } as RouteObject,
                page('account', () => import('../account/account.tsx')),
                page('*', () => import('../ui/not-found.tsx')),
              ],
            },
          ],
        },
      ],
    },
  ],
  { basename: '/dashboard' },
)
