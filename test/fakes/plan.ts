import { randomUUID } from 'node:crypto'
import type { CallPlan } from '../../media/contract/plan.ts'

/** A plan that asks for nothing special. */
export const plan = (changes: Partial<CallPlan> = {}): CallPlan => ({
  v: 1,
  call_id: randomUUID(),
  owner_id: randomUUID(),
  project_id: randomUUID(),
  direction: 'out',
  from: '+12025550100',
  to: '+12025550101',
  trunk_id: randomUUID(),
  ring_timeout_ms: 30_000,
  max_call_ms: 600_000,
  paid_ms: 60_000,
  language: 'en',
  voice: null,
  brain: { kind: 'scripted' },
  disclosure: null,
  greeting: null,
  prompt: 'You are helpful.',
  task: null,
  vars: {},
  tools: [],
  goal: null,
  extraction: null,
  voicemail: { action: 'hangup' },
  recording: false,
  sealed: null,
  traceparent: null,
  ...changes,
})
