import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Whole calls and the speech process, which want a core for themselves, and mostly wait. */
const calls = ['test/e2e/**', 'test/infra/**', 'test/media/{call,models,room}/**'].map(folder => `${folder}/*.test.ts`)

/** One file at a time of each; `npm test` runs the two side by side. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects: [
      { extends: true, test: { name: 'calls', include: calls } },
      { extends: true, test: { name: 'parts', include: ['test/**/*.test.ts'], exclude: calls } },
    ],
    maxWorkers: 1,
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    // A line a file: what failed stands at the end of `npm test`, and nobody finds it in thousands of lines.
    slowTestThreshold: 60_000,
    // What a list held says why a test failed on a machine that is gone by then.
    chaiConfig: { truncateThreshold: 400 },
    pool: 'forks',
    // Otherwise @livekit/rtc-node logs for its own developers.
    env: { NODE_ENV: 'production' },
  },
})
