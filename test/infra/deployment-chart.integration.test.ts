/**
 * The chart of infra/deploy/helm, compared with what its pods run. Its templates are always checked as text; they are
 * rendered, linted and validated against Kubernetes' own schemas when Helm and kubeconform are in the cache (`npm run
 * test:full` builds them).
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, SETTINGS } from '../../infra/config/config.ts'
import { findChartTools, KUBERNETES } from '../../infra/deploy/helm/tools.ts'
import { compose, copiedTo, environmentOf, neededBy, read, root, wordsOf } from './deployment-files.ts'

const CHART = 'infra/deploy/helm/parley'
const chart = parse(read(`${CHART}/Chart.yaml`)) as { version: string; appVersion: string }
type Values = { [key: string]: Values | string | number | boolean | null }
const values = parse(read(`${CHART}/values.yaml`)) as Values
const templates = readdirSync(join(root, CHART, 'templates')).map(
  name => [name, read(`${CHART}/templates/${name}`)] as const,
)

const at = (path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], values)

describe('the templates', () => {
  it.each(templates)('reference existing values: %s', (_, text) => {
    const short = [...text.matchAll(/\{\{-? (\$\w+) := \.Values\.(\w+) \}\}/g)]
    const long = short.reduce(
      (all, [, name, path]) => all.replaceAll(`${name}.`, `.Values.${path}.`),
      text.replace(/\$\.Values/g, '.Values'),
    )
    const asked = [...long.matchAll(/\.Values\.([\w.]*\w)/g)].map(match => match[1]!)
    expect(asked.filter(path => at(path) === undefined)).toEqual([])
  })

  it.each(templates.filter(([name]) => /^(?:control|engine)\.yaml$|^_/.test(name)))(
    'set known variables: %s',
    (_, text) => {
      const names = [...text.matchAll(/\bname: ([A-Z][A-Z0-9_]+)\b/g)].map(match => match[1]!)
      expect(names.length).toBeGreaterThan(8)
      expect(names.filter(name => !SETTINGS.includes(name))).toEqual([])
    },
  )

  it('use the version of the package and its images', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    expect([chart.version, chart.appVersion]).toEqual([version, version])
    for (const name of ['drachtio', 'livekit', 'redis', 'postgres']) {
      expect(at(`${name}.image`)).toBe(compose.services[name]!.image)
    }
  })

  it('agree with infra/deploy/docker', () => {
    const text = Object.fromEntries(templates)
    const lines = (from: string) => from.split('\n').map(line => line.trim())
    const redis = lines(read('infra/deploy/docker/redis.conf')).filter(line => line !== '' && !line.startsWith('#'))
    expect(redis.filter(line => !lines(text['redis.yaml']!).includes(line))).toEqual([])
    const spammers = /<spammers[\s\S]*<\/spammers>/.exec(read('infra/deploy/docker/drachtio.conf.xml'))![0]
    expect(lines(text['drachtio.yaml']!).join('\n')).toContain(lines(spammers).join('\n'))
  })

  it('use known settings in the values', () => {
    expect(Object.keys(values['settings'] as Values).filter(name => !SETTINGS.includes(name))).toEqual([])
  })
})

// ---- rendered ----

interface Container {
  name: string
  image: string
  command?: string[]
  args: string[]
  env?: { name: string; value?: string; valueFrom?: { fieldRef: { fieldPath: string } } }[]
  ports?: { name: string; containerPort: number }[]
  securityContext: unknown
  livenessProbe: Probe
  readinessProbe?: Probe
  startupProbe?: Probe
  volumeMounts: { name: string; mountPath: string }[]
}
interface Probe {
  httpGet?: { port: string; path: string }
  tcpSocket?: { port: string }
  exec?: { command: string[] }
}
interface Pod {
  hostNetwork?: boolean
  terminationGracePeriodSeconds: number
  securityContext: Record<string, unknown>
  initContainers?: Container[]
  containers: Container[]
  volumes: { name: string; secret?: { items: { key: string }[] } }[]
}
interface Manifest {
  kind: string
  metadata: { name: string }
  spec: Record<string, unknown> & {
    template: { metadata: { labels: Record<string, string>; annotations?: Record<string, string> }; spec: Pod }
    volumeClaimTemplates?: { metadata: { name: string } }[]
    selector: Record<string, string>
    ports: { port: number; targetPort: string }[]
  }
}

/** Values that operators may choose. */
const CHOICES: Record<string, string[]> = {
  'as it comes, with a shared folder': ['blobs.existingClaim=recordings'],
  'with a bucket, autoscaling and an ingress': [
    ...['blobs.s3.url=https://s3.example.com/recordings', 'engine.autoscaling.enabled=true', 'ingress.enabled=true'],
    ...['ingress.className=nginx', 'ingress.tlsSecret=certificate', 'engine.autoscaling.scaleDown=true'],
  ],
  'in the network of the pods': [
    ...['blobs.existingClaim=recordings', 'engine.hostNetwork=false', 'livekit.hostNetwork=false'],
    ...['drachtio.hostNetwork=false', 'drachtio.externalIp=192.0.2.1', 'livekit.publicIp=192.0.2.2'],
  ],
  'with servers of its own': [
    ...['blobs.existingClaim=recordings', 'redis.enabled=false', 'postgres.enabled=false'],
    ...['livekit.enabled=false', 'livekit.url=ws://rtc.internal:7880', 'mail.from=Parley <parley@example.com>'],
  ],
}

const tools = findChartTools(readConfig().cache)
const flags = (choice: string) => CHOICES[choice]!.flatMap(pair => ['--set', pair])
const helm = (...args: string[]) =>
  spawnSync(tools!.helm, [...args, '--kube-version', KUBERNETES], {
    cwd: join(root, 'infra/deploy/helm'),
    encoding: 'utf8',
  })

describe.skipIf(tools === null).each(Object.keys(CHOICES))('the chart %s', choice => {
  let text: string
  let manifests: Manifest[]
  beforeAll(() => {
    const { status, stdout, stderr } = helm('template', 'parley', 'parley', ...flags(choice))
    expect([status, stderr]).toEqual([0, ''])
    text = stdout
    manifests = parseAllDocuments(text).map(document => document.toJS() as Manifest)
  })
  const workloads = () => manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
  const workload = (part: string) => workloads().find(({ metadata }) => metadata.name === `parley-${part}`)!
  const containers = (one: Manifest) => [
    ...(one.spec.template.spec.initContainers ?? []),
    ...one.spec.template.spec.containers,
  ]

  it('passes helm lint', () => {
    const { status, stdout } = helm('lint', 'parley', '--strict', ...flags(choice))
    expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')])
  })

  it('is valid for Kubernetes', () => {
    const args = ['-strict', '-summary', '-output', 'json', '-schema-location', tools!.schemas, '-']
    const { stdout } = spawnSync(tools!.kubeconform, args, { input: text, encoding: 'utf8' })
    const found = JSON.parse(stdout) as { resources: unknown[]; summary: Record<string, number> }
    expect(found.resources ?? []).toEqual([])
    expect(found.summary).toEqual({ valid: manifests.length, invalid: 0, errors: 0, skipped: 0 })
  })

  it('sets known variables once each', () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-chart-'))
    execFileSync('sh', [join(root, 'infra/deploy/docker/make-secrets.sh'), join(folder, 's')])
    for (const name of ['s3_access_key', 's3_secret_key'])
      execFileSync('sh', ['-c', `echo key > '${folder}/s/${name}'`])
    writeFileSync(join(folder, 's/smtp_url'), 'smtp://parley:word@mail.example.com:587')
    try {
      for (const part of ['control', 'engine']) {
        const [container] = workload(part).spec.template.spec.containers
        const names = container!.env!.map(({ name }) => name)
        expect(names.length).toBe(new Set(names).size)
        expect(names.filter(name => !SETTINGS.includes(name))).toEqual([])
        const given = container!.env!.map(({ name, value, valueFrom }) => [
          name,
          (valueFrom ? `field.${valueFrom.fieldRef.fieldPath}` : value)!.replace(
            '/run/secrets/parley',
            join(folder, 's'),
          ),
        ])
        const env = { ...environmentOf(part), ...Object.fromEntries(given), PARLEY_HOME: join(folder, 'home') }
        const config = readConfig(env)
        expect(config.TRUNK_PRIVATE_HOSTS).toBe('deny')
        const sends = part === 'control' && choice === 'with servers of its own'
        expect([config.MAIL_FROM?.address, config.SMTP_URL !== undefined]).toEqual(
          sends ? ['parley@example.com', true] : [undefined, false],
        )
        if (part === 'control') expect(config.DATABASE_URL).toContain('postgres://parley:')
        else expect(config.ENGINE_NAME).toBe('field.metadata.name')
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('starts programs of their images', () => {
    for (const one of workloads()) {
      for (const { image, args, livenessProbe, readinessProbe, startupProbe } of containers(one)) {
        const own = /^parley-(\w+):([\d.]+)$/.exec(image)
        if (!own) continue
        expect(own[2]).toBe(chart.appVersion)
        const probes = [livenessProbe, readinessProbe, startupProbe].flatMap(probe => probe?.exec?.command ?? [])
        const programs = [...args, ...probes].flatMap(
          word => word.match(/\b(?:infra|media|control)\/[\w/]+\.ts\b/g) ?? [],
        )
        expect(args[0]).toBe('node')
        expect(programs).toContain(args[1])
        const copied = copiedTo(own[1]!)
        const { files } = neededBy(programs)
        expect(files.filter(file => !copied.some(path => file === path || file.startsWith(`${path}/`)))).toEqual([])
      }
    }
    // Equivalent to the image's own command, written differently.
    const speech = workload('engine').spec.template.spec.initContainers![0]!.args.flatMap(word => word.split('='))
    expect(speech).toEqual(wordsOf('speech', 'CMD'))
  })

  it('maps each address to an exposed port', () => {
    const services = manifests.filter(({ kind }) => kind === 'Service')
    for (const service of services) {
      const behind = workloads().filter(one =>
        Object.entries(service.spec.selector).every(([key, value]) => one.spec.template.metadata.labels[key] === value),
      )
      expect(behind).toHaveLength(1)
      const ports = containers(behind[0]!).flatMap(({ ports: own = [] }) => own)
      for (const { port, targetPort } of service.spec.ports) {
        expect(ports.filter(({ name }) => name === targetPort).map(({ containerPort }) => containerPort)).toEqual([
          port,
        ])
      }
    }
    const port = (name: string) => services.find(({ metadata }) => metadata.name === name)?.spec.ports.at(0)?.port
    const setting = (part: string, name: string) =>
      workload(part).spec.template.spec.containers[0]!.env!.find(one => one.name === name)?.value
    expect(port(setting('engine', 'DRACHTIO_HOST')!)).toBe(Number(setting('engine', 'DRACHTIO_PORT')))
    expect(port('parley-control')).toBe(Number(setting('control', 'HTTP_PORT')))
    const livekit = new URL(setting('engine', 'LIVEKIT_URL')!)
    if (workload('livekit')) expect(port(livekit.hostname)).toBe(Number(livekit.port))
    for (const part of ['control', 'engine']) {
      const { annotations } = workload(part).spec.template.metadata
      expect(annotations!['prometheus.io/port']).toBe(setting(part, 'METRICS_PORT'))
    }
    expect(workload('engine').spec.template.spec.initContainers![0]!.args).toContain(
      `--port=${setting('engine', 'SPEECH_PORT')}`,
    )
  })

  it('runs as non-root with read-only file systems and probes', () => {
    expect(workloads().length).toBeGreaterThan(2)
    for (const one of workloads()) {
      const pod = one.spec.template.spec
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: expect.any(Number),
        seccompProfile: { type: 'RuntimeDefault' },
      })
      for (const container of containers(one)) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        expect(container.image).toMatch(/^[\w./-]+:v?\d+\.\d+[\w.-]*$/)
        const ports = (container.ports ?? []).map(({ name }) => name)
        for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
          if (probe) expect([...ports, undefined]).toContain((probe.httpGet ?? probe.tcpSocket)?.port)
        }
        expect(container.livenessProbe).toBeDefined()
        const volumes = [...pod.volumes, ...(one.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)]
        for (const { name } of container.volumeMounts) expect(volumes.map(volume => volume.name)).toContain(name)
      }
    }
  })

  it('mounts exactly the secrets that a pod reads', () => {
    const made = [...Object.keys(compose.secrets), 's3_access_key', 's3_secret_key', 'smtp_url']
    for (const one of workloads()) {
      const items = one.spec.template.spec.volumes.flatMap(({ secret }) => secret?.items ?? [])
      const config = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === one.metadata.name)
      const used = [...JSON.stringify([one, config]).matchAll(/\/run\/secrets\/parley\/(\w+)/g)].map(match => match[1]!)
      expect(new Set(items.map(({ key }) => key))).toEqual(new Set(used))
      expect(used.filter(name => !made.includes(name))).toEqual([])
    }
  })

  it('gives each program a longer grace period than its shutdown', () => {
    const stopSeconds =
      Number(/^const STOP_MS = ([\d_]+)$/m.exec(read('infra/bin/run-until-stopped.ts'))![1]!.replace('_', '')) / 1000
    for (const part of ['control', 'engine']) {
      const { terminationGracePeriodSeconds, containers: all } = workload(part).spec.template.spec
      const before = Number(/"sleep","(\d+)"/.exec(JSON.stringify(all))?.[1] ?? 0)
      const drain = Number(/"ENGINE_DRAIN_SECONDS","value":"(\d+)"/.exec(JSON.stringify(all))?.[1] ?? 0)
      expect(drain > 0).toBe(part === 'engine')
      expect(terminationGracePeriodSeconds).toBeGreaterThan(stopSeconds + before + drain)
    }
  })

  it('scales by an exported metric', () => {
    const scaler = manifests.find(({ kind }) => kind === 'HorizontalPodAutoscaler')
    expect(scaler !== undefined).toBe(choice.includes('autoscaling'))
    expect(workload('engine').spec['replicas'] === undefined).toBe(scaler !== undefined)
    if (!scaler) return
    const [metric] = scaler.spec['metrics'] as { pods: { metric: { name: string } } }[]
    expect(read('infra/bin/engine.ts')).toContain(`gauge('${metric!.pods.metric.name}',`)
  })
})

describe.skipIf(tools === null)('the chart', () => {
  it.each([
    [[], 'Recordings need a place that engines and control share'],
    [['blobs.existingClaim=a', 'livekit.enabled=false'], 'livekit.url is needed'],
    [['blobs.existingClaim=a', 'networkPolicy.nodeCidrs=null'], 'networkPolicy.nodeCidrs is needed'],
  ])('reports missing values: %j', (pairs, words) => {
    const { status, stderr } = helm('template', 'parley', 'parley', ...pairs.flatMap(pair => ['--set', pair]))
    expect(status).toBe(1)
    expect(stderr).toContain(words)
  })

  it('is validated by strict schemas', () => {
    const wrong = (change: (text: string) => string) => {
      const { stdout } = helm('template', 'parley', 'parley', ...flags('as it comes, with a shared folder'))
      const args = ['-strict', '-schema-location', tools!.schemas, '-']
      const changed = change(stdout)
      expect(changed).not.toBe(stdout)
      return spawnSync(tools!.kubeconform, args, { input: changed, encoding: 'utf8' }).stdout
    }
    expect(wrong(text => text.replace('podManagementPolicy', 'podManagmentPolicy'))).toContain('podManagmentPolicy')
    expect(wrong(text => text.replace('serviceName: parley-engine', ''))).toContain("missing property 'serviceName'")
    expect(wrong(text => text.replace('hostNetwork: true', 'hostNetwork: "true"'))).toContain('hostNetwork')
  })
})
