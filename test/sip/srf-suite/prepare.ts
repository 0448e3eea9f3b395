/**
 * Lays out drachtio-srf's own tests so that they can run: the installed package (its tests come with it), the tools they
 * need from npm, and stand-ins for the two docker commands they call.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const TOOLS = ['tape', 'config', 'mocha', 'should', 'sip-message-examples']

interface Manifest {
  version: string
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** Returns the folder; made once for each version of drachtio-srf and used again. */
export function prepareSuite(): string {
  const source = dirname(require.resolve('drachtio-srf/package.json'))
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Manifest
  const folder = fileURLToPath(new URL(`../../../node_modules/.cache/srf-suite-${manifest.version}`, import.meta.url))
  if (existsSync(join(folder, 'done'))) return folder
  const target = join(folder, 'package')
  mkdirSync(target, { recursive: true })
  for (const part of ['lib', 'test', 'config']) cpSync(join(source, part), join(target, part), { recursive: true })
  const tools = Object.fromEntries(TOOLS.map(name => [name, manifest.devDependencies[name] ?? '*']))
  const lean = { ...manifest, dependencies: { ...manifest.dependencies, ...tools }, devDependencies: {} }
  writeFileSync(join(target, 'package.json'), JSON.stringify(lean))
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: target,
    stdio: 'pipe',
  })
  mendScenarios(join(target, 'test', 'scenarios'))
  writeStandIns(join(folder, 'bin'))
  writeFileSync(join(folder, 'done'), '')
  return folder
}

/** sipp before 3.7 reads a bare < or > inside an attribute as markup. */
function mendScenarios(folder: string): void {
  for (const name of readdirSync(folder).filter(file => file.endsWith('.xml'))) {
    const path = join(folder, name)
    const text = readFileSync(path, 'latin1')
    const mended = text.replace(
      /(regexp=")([^"]*)(")/g,
      (_all, before, regexp, after) => before + regexp.replaceAll('<', '&lt;').replaceAll('>', '&gt;') + after,
    )
    if (mended !== text) writeFileSync(path, mended, 'latin1')
  }
}

/** Replaces `docker run … sipp ARGS` by the local sipp. inside.ts starts the services of the compose file. */
const DOCKER = `#!/bin/sh
named=no scenarios= inside=-
while [ "$1" != sipp ]; do
  case "$1" in
    --name) named=yes ;;
    -v) scenarios=\${2%%:*} inside=\${2#*:} ;;
  esac
  shift
done
shift
for arg; do
  shift
  case "$arg" in
    "$inside"/*) set -- "$@" "$scenarios/\${arg#"$inside"/}" ;;
    *) set -- "$@" "$arg" ;;
  esac
done
cd "$SRF_SUITE_SCRATCH" || exit 1
if [ $named = yes ]; then exec sipp "$@" -i 172.29.0.30 -p 5060; fi
exec sipp "$@" -i 172.29.0.200
`

function writeStandIns(folder: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'docker'), DOCKER, { mode: 0o755 })
  writeFileSync(join(folder, 'docker-compose'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
}
