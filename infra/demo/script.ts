/** The recordings of the demo's caller and their cues. The phone does not know what the agent says. */

export interface DemoLine {
  file: string
  /** Shown in the terminal and used by tests; the phone plays the file. */
  text: string
  /** `pause`: after the agent has spoken and fallen silent. `over`: `afterMs` milliseconds into the agent's speech. */
  cue: { type: 'pause' } | { type: 'over'; afterMs: number }
}

export const demoLines: DemoLine[] = [
  {
    file: 'book.wav',
    text: 'I would like to book a table for four people, tomorrow at seven in the evening.',
    cue: { type: 'pause' },
  },
  { file: 'name.wav', text: 'My name is John Miller.', cue: { type: 'pause' } },
  {
    file: 'change.wav',
    text: "Sorry, no, change it to eight o'clock in the evening.",
    cue: { type: 'over', afterMs: 2600 },
  },
  { file: 'confirm.wav', text: 'Yes, that is correct.', cue: { type: 'pause' } },
  { file: 'bye.wav', text: 'No, thank you. That is all.', cue: { type: 'pause' } },
]
