/** Findings about the program itself, and the scope of the doctor according to the settings. */
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Config } from '../config/config.ts'
import { about, type Finding } from './finding.ts'

const root = join(import.meta.dirname, '../..')

export interface ServerPlace {
  /** Description for the first line of the report. */
  name: string
  /** True when `npm start` runs all components here. */
  allInOne: boolean
  running: boolean
  control: boolean
  engine: boolean
}

/**
 * The scope of the doctor: a container checks itself and what it is configured for. A directory without any
 * configuration is that of `npm start`.
 */
export function placeOfConfig(
  config: Config,
  running: boolean,
  given: Pick<Config, 'DATABASE_URL' | 'DRACHTIO_HOST'>,
): ServerPlace {
  const control = given.DATABASE_URL !== undefined
  const engine = given.DRACHTIO_HOST !== undefined
  const allInOne = running || (!control && !engine)
  const home = relative(process.cwd(), config.home) || '.'
  const part = control && engine ? 'control and engine' : control ? 'control' : 'engine'
  return {
    name: running
      ? `the running Parley in ${home}`
      : allInOne
        ? `${home} (Parley is not running)`
        : `${part} (settings of this environment)`,
    allInOne,
    running,
    control: control || allInOne,
    engine: engine || allInOne,
  }
}

export function examineProgram(): Finding[] {
  const say = about('Program')
  const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
    devDependencies: Record<string, string>
  }
  const wanted = Number(/\d+/.exec(devDependencies['node'] ?? '')?.[0] ?? 0)
  const have = Number(process.versions.node.split('.')[0])
  if (!existsSync(join(root, 'node_modules'))) {
    return [say.error('Packages are not installed.', 'Run `npm start`, which installs them.')]
  }
  if (have < wanted)
    return [say.error(`Node ${have} is too old; Parley needs ${wanted}.`, 'Start the doctor with `npm run doctor`.')]
  return [say.ok(`Parley ${version} on Node ${process.versions.node}.`)]
}
