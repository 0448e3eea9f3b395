/** The program itself, and what the settings of this place say it should look at. */
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Config } from '../config/config.ts'
import { about, type Finding } from './finding.ts'

const root = join(import.meta.dirname, '../..')

export interface Place {
  /** In words, for the first line. */
  name: string
  /** Everything is looked after by `npm start` here. */
  allInOne: boolean
  running: boolean
  control: boolean
  engine: boolean
}

/**
 * Where the doctor was called: containers know of themselves alone, and are told by what they are given. A folder in which
 * nothing is configured is that of `npm start`.
 */
export function placeOfConfig(
  config: Config,
  running: boolean,
  given: Pick<Config, 'DATABASE_URL' | 'DRACHTIO_HOST'>,
): Place {
  const control = given.DATABASE_URL !== undefined
  const engine = given.DRACHTIO_HOST !== undefined
  const allInOne = running || (!control && !engine)
  const home = relative(process.cwd(), config.home) || '.'
  const part = control && engine ? 'control and engine' : control ? 'control' : 'an engine'
  return {
    name: running
      ? `the Parley that runs in ${home}`
      : allInOne
        ? `${home}, where no Parley runs`
        : `${part}, as configured here`,
    ...{ allInOne, running, control: control || allInOne, engine: engine || allInOne },
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
    return [say.bad('Its packages are not installed.', '`npm start` installs them.')]
  }
  if (have < wanted) return [say.bad(`It runs on Node ${have} and needs ${wanted}.`, 'Call it by `npm run doctor`.')]
  return [say.ok(`Parley ${version} on Node ${process.versions.node}.`)]
}
