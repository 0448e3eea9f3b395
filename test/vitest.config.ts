/** The three projects of the tests; docs/testing.md describes their contents and when they run. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Whole calls: the product as processes of their own, with SIP, RTP and WebRTC between them. */
const e2e = ['test/e2e/**/*.test.ts', 'test/interop/**/*.test.ts']
/** Needs Postgres, Redis, a process or the speech models. */
const integration = ['test/**/*.integration.test.ts']

/** Each vitest process with one of these projects starts its own Postgres and Redis. */
const servers = { globalSetup: ['test/global-setup.ts'], testTimeout: 120_000, hookTimeout: 180_000 }

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...integration, ...e2e],
          setupFiles: ['test/support/unit-guard.ts'],
          maxWorkers: 3,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // More files than cores, because most of them wait: for a process, for a page, for a timer.
        test: { name: 'integration', include: integration, maxWorkers: 4, sequence: { groupOrder: 1 }, ...servers },
      },
      {
        extends: true,
        // Most of a call is waiting for somebody to finish speaking.
        test: { ...servers, name: 'e2e', include: e2e, maxWorkers: 2, sequence: { groupOrder: 2 } },
      },
    ],
    // One line per file: `npm test` prints failures at its end, where they are not lost among thousands of lines.
    slowTestThreshold: 60_000,
    // Longer lists in failure messages, because the machine of a CI run is gone afterwards.
    chaiConfig: { truncateThreshold: 400 },
    pool: 'forks',
    // Modules are loaded once a worker and not once a file, which saves about two seconds of CPU a file.
    isolate: false,
    // Otherwise @livekit/rtc-node logs for its own developers.
    env: { NODE_ENV: 'production' },
    provide: { full: process.env['PARLEY_TEST_FULL'] === '1' },
  },
})
