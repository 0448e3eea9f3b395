/** `npm run admin`: manages accounts of an installation, through a running Parley's database or DATABASE_URL. */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { runAdmin } from '../admin/admin.ts'

/** Reads the password without echo from a terminal, or all of standard input. */
async function readPassword(): Promise<string> {
  if (!process.stdin.isTTY) return (await readAll(process.stdin)).replace(/\r?\n$/, '')
  process.stderr.write('Password: ')
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true })
  const password = await prompt.question('')
  prompt.close()
  process.stderr.write('\n')
  return password
}

process.exitCode = await runAdmin(process.argv.slice(2), {
  env: process.env,
  print: text => console.log(text),
  printError: text => console.error(text),
  readPassword,
})
