/** The peers' packages, pinned with all dependencies, in cache directories: downloaded once, by the bench itself. */
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ProgressReporter, run } from '../../../infra/setup/prepare.ts'
import { ensurePackages, findPackages, type Packages } from '../../../infra/tools/python.ts'

export const PIPECAT_VERSION = '1.14.0'
const WITH_PIPECAT = `
  aiofiles==25.1.0 aiohappyeyeballs==2.7.1 aiohttp==3.14.5 aiosignal==1.4.0 annotated-doc==0.0.7
  annotated-types==0.8.0 anyio==4.16.0 attrs==26.1.0 cffi==2.1.1 click==8.5.1 docopt==0.6.2
  docstring_parser==0.18.0 fastapi==0.165.0 flatbuffers==25.12.19 frozenlist==1.8.0 h11==0.16.0
  httpcore2==2.16.2 httpx2==2.16.2 idna==3.20 jiter==0.19.0 llvmlite==0.50.0 loguru==0.7.3 loudness==0.2.0
  Markdown==3.11.3 multidict==7.2.1 num2words==0.5.14 numba==0.68.1 numpy==2.4.6 onnxruntime==1.32.0
  openai==3.54.0 opentelemetry-api==1.45.2 packaging==26.3 pillow==13.0.0 propcache==0.5.4 protobuf==6.33.6
  pycparser==3.12 pydantic==2.14.3 pydantic_core==2.50.4 python-dotenv==1.2.4 PyYAML==6.0.3 resampy==0.4.3
  sentencex==1.0.32 sniffio==1.3.1 soundfile==0.13.1 soxr==1.0.0 starlette==1.10.0 truststore==0.10.5
  typing-inspection==0.4.5 typing_extensions==4.16.0 uvicorn==0.54.0 wait_for2==0.4.1 websockets==17.4
  yarl==1.25.1
`

const PIPECAT: Packages = {
  name: 'Pipecat',
  pins: [`pipecat-ai==${PIPECAT_VERSION}`, ...WITH_PIPECAT.trim().split(/\s+/)],
  megabytes: 500,
}

/** The directory for Python's path, or the reason why it is missing. */
export async function ensurePipecat(
  cache: string,
  reporter: ProgressReporter,
): Promise<{ folder: string } | { why: string }> {
  const why = await ensurePackages(cache, PIPECAT, reporter)
  const folder = why === null ? await findPackages(cache, PIPECAT) : null
  return folder ? { folder } : { why: why ?? 'its packages are gone' }
}

const AGENTS = join(import.meta.dirname, 'livekit')

export const agentsVersion = (): string =>
  JSON.parse(readFileSync(join(AGENTS, 'package.json'), 'utf8')).dependencies['@livekit/agents']

/** The agent's program, next to the packages that it imports; or the reason why it is missing. */
export async function ensureLiveKitAgents(
  cache: string,
  reporter: ProgressReporter,
): Promise<{ program: string } | { why: string }> {
  const lock = readFileSync(join(AGENTS, 'package-lock.json'))
  const folder = join(cache, `livekit-agents-${agentsVersion()}-${hash(lock)}`)
  if (!existsSync(folder)) {
    const why = await install(cache, folder, reporter)
    if (why) return { why }
  }
  const source = join(AGENTS, 'agent.mjs')
  const program = join(folder, `agent-${hash(readFileSync(source))}.mjs`)
  if (!existsSync(program)) {
    const part = `${program}-${process.pid}`
    copyFileSync(source, part)
    renameSync(part, program)
  }
  return { program }
}

const hash = (content: Buffer) => createHash('sha256').update(content).digest('hex').slice(0, 12)

/** Returns null when they are installed, otherwise the reason. */
async function install(cache: string, folder: string, reporter: ProgressReporter): Promise<string | null> {
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'livekit-agents-work-'))
  const done = reporter.step('Installing LiveKit Agents (about 290 MB, once)')
  try {
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(AGENTS, file), join(work, file))
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const { code, output } = await run('npm', ['ci', ...flags], { cwd: work })
    if (code !== 0) throw new Error(output.trim().split('\n').at(-1) ?? '')
    renameSync(work, folder)
    done()
    return null
  } catch (error) {
    done('failed')
    // Another checkout may have been faster.
    return existsSync(folder) ? null : (error as Error).message
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
