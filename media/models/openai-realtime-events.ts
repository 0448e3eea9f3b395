/** Messages of OpenAI's Realtime API: the server events that we parse, and conversation items. */
import { z } from 'zod'
import type { ChatMessage } from '../ports/llm.ts'
import { markUntrusted } from '../shared/untrusted.ts'

export const VENDOR = 'openai_realtime'

const event = <T extends string>(type: T) => ({ type: z.literal(type) })
const ofItem = { response_id: z.string(), item_id: z.string() }
const failure = { type: z.string().nullish(), code: z.string().nullish() }

export const ServerEvent = z.discriminatedUnion('type', [
  z.object(event('session.updated')),
  z.object(event('input_audio_buffer.speech_started')),
  z.object({ ...event('input_audio_buffer.committed'), item_id: z.string() }),
  z.object({
    ...event('conversation.item.input_audio_transcription.completed'),
    item_id: z.string(),
    transcript: z.string(),
  }),
  z.object({ ...event('conversation.item.input_audio_transcription.failed'), item_id: z.string() }),
  z.object({ ...event('response.created'), response: z.object({ id: z.string() }) }),
  z.object({ ...event('response.output_audio.delta'), ...ofItem, delta: z.base64() }),
  z.object({ ...event('response.output_audio.done'), ...ofItem }),
  z.object({ ...event('response.output_audio_transcript.delta'), ...ofItem, delta: z.string() }),
  z.object({
    ...event('response.function_call_arguments.done'),
    ...ofItem,
    call_id: z.string().min(1),
    name: z.string(),
    arguments: z.string(),
  }),
  z.object({
    ...event('response.done'),
    response: z.object({
      id: z.string(),
      status: z.enum(['completed', 'cancelled', 'incomplete', 'failed', 'in_progress']),
      status_details: z.object({ error: z.object(failure).nullish() }).nullish(),
    }),
  }),
  z.object({ ...event('error'), error: z.object({ ...failure, event_id: z.string().nullish() }) }),
])
export type ServerEvent = z.infer<typeof ServerEvent>

/** Converts a message of the conversation to the API's items. `boundary` marks the results of tools. */
export function toItems(message: ChatMessage, boundary: string): object[] {
  switch (message.role) {
    case 'caller': {
      const text = message.keys ? `(pressed keys) ${message.text}` : message.text
      return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
    }
    case 'agent': {
      const text = message.interrupted ? `${message.text} —(the caller interrupted)` : message.text
      return [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }]
    }
    case 'tool':
      return [
        {
          type: 'function_call',
          call_id: message.id,
          name: message.name,
          arguments: JSON.stringify(message.arguments),
        },
        toResult(message, boundary),
      ]
  }
}

export type ToolMessage = Extract<ChatMessage, { role: 'tool' }>

export const toResult = ({ id, name, result }: ToolMessage, boundary: string): object => ({
  type: 'function_call_output',
  call_id: id,
  output: markUntrusted(boundary, name, result),
})
