/**
 * Helm and kubeconform, which check this directory's chart, built from their Go modules into the cache. The schemas
 * come from two modules that Helm depends on, so that tests download nothing.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { goInstall } from '../../embedded/go-install.ts'
import { findGo } from '../../embedded/livekit.ts'
import { run } from '../../setup/prepare.ts'
import { makeOnce } from '../../setup/shared-folder.ts'
import { type Modules, writeSchemas } from './schemas.ts'

const PROGRAMS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.18.6',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0',
}
/** The Kubernetes version that this Helm version targets. */
const MODULES = { typed: 'k8s.io/client-go@v0.33.3', documented: 'k8s.io/cli-runtime@v0.33.3' }
export const KUBERNETES = '1.33.0'

export interface ChartTools {
  helm: string
  kubeconform: string
  /** A path template in kubeconform's syntax. */
  schemas: string
}

const folderOf = (cache: string) => join(cache, 'chart-tools-1')

/** Null when they have not been built. */
export function findChartTools(cache: string): ChartTools | null {
  const folder = folderOf(cache)
  if (!existsSync(folder)) return null
  const schemas = join(folder, 'schemas', '{{ .ResourceKind }}{{ .KindSuffix }}.json')
  return { helm: join(folder, 'helm'), kubeconform: join(folder, 'kubeconform'), schemas }
}

/** Builds the tools. Returns null on success, otherwise the reason. Takes minutes; `signal` stops it. */
export async function buildChartTools(cache: string, logFile: string, signal: AbortSignal): Promise<string | null> {
  if (findChartTools(cache)) return null
  const go = await findGo(cache)
  if (typeof go !== 'string') return go.missing
  try {
    await makeOnce(folderOf(cache), {
      name: 'Helm and kubeconform',
      signal,
      async make(building) {
        mkdirSync(building)
        for (const [name, module] of Object.entries(PROGRAMS)) {
          const output: string[] = []
          await goInstall(go, [module], { target: building, signal, onLine: line => output.push(`${line}\n`) })
          if (existsSync(join(building, name))) continue
          writeFileSync(logFile, output.join(''))
          throw new Error(signal.aborted ? 'build canceled' : `building ${name} failed, see ${logFile}`)
        }
        writeSchemas(await downloaded(go), join(building, 'schemas'))
      },
    })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

async function downloaded(go: string): Promise<Modules> {
  const folder = async (module: string) => {
    const { code, output } = await run(go, ['mod', 'download', '-json', module], { cwd: '/' })
    if (code !== 0) throw new Error(`Couldn’t download ${module}: ${output.trim().split('\n').at(-1) ?? ''}`)
    return (JSON.parse(output.slice(output.indexOf('{'))) as { Dir: string }).Dir
  }
  return { typed: await folder(MODULES.typed), documented: await folder(MODULES.documented) }
}
