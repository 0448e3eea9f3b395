/** The state that the steps of `npm start` share. */
import { join } from 'node:path'
import { formatHost } from '../../sip/text/grammar.ts'
import type { Config } from '../config/config.ts'
import type { Home } from '../embedded/home.ts'
import type { ProgressReporter } from '../setup/prepare.ts'
import type { Part, RunningParts } from './running-parts.ts'

export class Launch {
  readonly config: Config
  readonly home: Home
  readonly reporter: ProgressReporter
  readonly running: RunningParts
  /** Settings of control and engines that the started parts determine. */
  readonly env: Record<string, string>
  /** Names of the started parts, for the terminal. */
  readonly names: string[] = []

  constructor(config: Config, home: Home, reporter: ProgressReporter, running: RunningParts) {
    this.config = config
    this.home = home
    this.reporter = reporter
    this.running = running
    this.env = { PARLEY_HOME: config.home, PARLEY_SECRET: config.secret }
  }

  /** Names a started part in the terminal, and stops it at the end. */
  keep(name: string, part: Part): void {
    this.running.add(name, part)
    this.names.push(name)
  }

  /** Options of a child process: its log file, and who is told about it. */
  child(name: string): { logFile: string; report(text: string): void; note(pid: number): void } {
    return {
      logFile: join(this.home.logs, `${name}.log`),
      report: this.reporter.say,
      note: pid => this.home.note(pid),
    }
  }

  /** Each process serves its metrics on its own port: control, engine, SIP server. */
  metricsPort(nth: number): Record<string, string> {
    const { METRICS_PORT } = this.config
    return METRICS_PORT === undefined || METRICS_PORT === 0 ? {} : { METRICS_PORT: String(METRICS_PORT + nth) }
  }
}

export function hostPort(host: string, port: number | string): string {
  return `${formatHost(host)}:${port}`
}
