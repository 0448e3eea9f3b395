import './style-nonce.ts'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense } from 'react'
import { RouterProvider } from 'react-router/dom'
import { queryClient } from '../api/queries.ts'
import { nonce } from '../ui/nonce.ts'
import { Waiting } from '../ui/states.tsx'
import { router } from './router.tsx'
import { theme, variables } from './theme.ts'

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={nonce} cssVariablesResolver={variables}>
      <QueryClientProvider client={queryClient}>
        <Notifications position="top-center" />
        <Suspense fallback={<Waiting />}>
          <RouterProvider router={router} />
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  )
}
