import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import { all, build, openSearxng } from '../control/leads/sources/rig.ts'

const none = { OVERPASS_URL: undefined, NOMINATIM_URL: undefined, SEARXNG_URL: undefined }
const map = { OVERPASS_URL: 'http://map.example/api', NOMINATIM_URL: 'http://map.example' }

describe('sources of leads', () => {
  it('are what is configured, and the own directories', () => {
    const ids = (config: Parameters<typeof build>[0]) => build(config).map(({ id }) => id)
    expect(ids(none)).toEqual(['directory'])
    expect(ids({ ...none, ...map })).toEqual(['directory', 'openstreetmap'])
    expect(ids({ ...none, ...map, SEARXNG_URL: 'http://web.example' })).toEqual(['directory', 'openstreetmap', 'web'])
  })

  it('carry the licence and the attribution that theirs ask for', () => {
    const [own, osm] = build({ ...none, ...map })
    expect(own).toMatchObject({ licence: null, attribution: null })
    expect(osm).toMatchObject({ licence: 'ODbL-1.0', attribution: '© OpenStreetMap contributors' })
  })

  it('are refused in the settings when half of the map is missing', () => {
    const given = (more: object) => () => readConfig({ PARLEY_HOME: process.env['PARLEY_HOME'], ...more })
    expect(given({ OVERPASS_URL: map.OVERPASS_URL })).toThrow(ConfigError)
    expect(given({ SEARXNG_URL: 'gopher://x' })).toThrow(ConfigError)
  })

  it('may be on this machine, and lead to nothing else on it', async () => {
    const { source, server } = await openSearxng({ '*': [[{ url: 'https://a.example/', title: 'A Dental' }]] })
    expect(await all(source, { queries: ['x'] })).toHaveLength(1)
    const hits: string[] = []
    const other = createServer((request, response) => {
      hits.push(request.url!)
      if (request.headers.host === `127.0.0.1:${port}`)
        response.writeHead(302, { location: `${server.url}/search` }).end()
    })
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      other.close()
      other.closeAllConnections()
    })
    const { port } = other.address() as AddressInfo
    const before = server.requests.length
    const web = build({ ...none, SEARXNG_URL: `http://127.0.0.1:${port}` }).find(({ id }) => id === 'web')!
    await expect(all(web, { queries: ['x'] })).rejects.toMatchObject({ code: 'unreachable' })
    expect([hits.length, server.requests.length]).toEqual([1, before])
  })
})
