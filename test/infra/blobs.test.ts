/** One interface, two stores: the directory and the bucket behave the same. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBlobs, createFolderBlobs, spoolFolder } from '../../infra/adapters/blobs.ts'
import { createS3Blobs } from '../../infra/adapters/blobs-s3.ts'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import type { Blobs } from '../../media/shared/blobs.ts'
import { type FakeS3, startS3 } from '../fakes/s3.ts'

let home: string
let s3: FakeS3
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'parley-blobs-test-'))
  s3 = await startS3()
})
afterAll(async () => {
  await s3?.close()
  rmSync(home, { recursive: true, force: true })
})

const { signal } = new AbortController()
const wav = { contentType: 'audio/wav', signal }
const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251))
let files = 0
function file(content: Buffer | string = bytes): string {
  const name = join(home, `file-${files++}`)
  writeFileSync(name, content)
  return name
}
const read = async (blobs: Blobs, key: string, range?: { start: number; end: number }) => {
  const stream = await blobs.read(key, range)
  return stream && buffer(stream)
}

describe.each([
  ['a folder', () => createFolderBlobs(join(home, 'folder'))],
  ['a bucket', () => createS3Blobs(s3)],
])('%s', (_, make) => {
  it('stores files and returns them, whole or in part', async () => {
    const blobs = make()
    const from = file()
    await blobs.store('recordings/one/a-1.wav', from, wav)
    expect(existsSync(from)).toBe(false)
    expect((await read(blobs, 'recordings/one/a-1.wav'))?.equals(bytes)).toBe(true)
    expect((await read(blobs, 'recordings/one/a-1.wav', { start: 10, end: 12 }))?.equals(bytes.subarray(10, 13))).toBe(
      true,
    )
    await blobs.store('recordings/one/a-1.wav', file('again'), wav)
    expect(String(await read(blobs, 'recordings/one/a-1.wav'))).toBe('again')
    expect(await read(blobs, 'recordings/one/none.wav')).toBeNull()
    expect(await read(blobs, 'recordings/one/a-1.wav/below')).toBeNull()
  })

  it('deletes a blob, a prefix, and a missing blob', async () => {
    const blobs = make()
    for (const key of ['recordings/two/a', 'recordings/two/b', 'recordings/two/c', 'recordings/twofold/a']) {
      await blobs.store(key, file(key), wav)
    }
    await blobs.delete('recordings/two/a')
    await blobs.delete('recordings/two/a')
    expect(await read(blobs, 'recordings/two/a')).toBeNull()
    expect(String(await read(blobs, 'recordings/two/b'))).toBe('recordings/two/b')
    await blobs.deleteAll('recordings/two')
    await blobs.deleteAll('recordings/two')
    for (const key of ['recordings/two/b', 'recordings/two/c']) expect(await read(blobs, key)).toBeNull()
    expect(String(await read(blobs, 'recordings/twofold/a'))).toBe('recordings/twofold/a')
  })

  it.each(['', '/etc/passwd', '../up', 'a/../../b', 'a//b', 'a/', 'A', 'a b', 'a/.', 'a\0'])(
    'rejects the key %j',
    async key => {
      const blobs = make()
      const from = file('stays')
      for (const attempt of [
        () => blobs.store(key, from, wav),
        () => blobs.read(key),
        () => blobs.delete(key),
        () => blobs.deleteAll(key),
      ]) {
        await expect((async () => attempt())()).rejects.toThrow('Not a valid blob key')
      }
      expect(existsSync(from)).toBe(true)
    },
  )
})

describe('a folder', () => {
  it('has private permissions, and moves files atomically across disks', async () => {
    const folder = join(home, 'closed')
    const blobs = createFolderBlobs(folder)
    await blobs.store('a/b.wav', file(), wav)
    expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700)
    const shm = '/dev/shm'
    if (!existsSync(shm) || statSync(shm).dev === statSync(folder).dev) return
    const elsewhere = mkdtempSync(join(shm, 'parley-'))
    writeFileSync(join(elsewhere, 'x'), bytes)
    await blobs.store('a/c.wav', join(elsewhere, 'x'), wav)
    expect(readdirSync(elsewhere)).toEqual([])
    expect(readdirSync(join(folder, 'a')).sort()).toEqual(['b.wav', 'c.wav'])
    rmSync(elsewhere, { recursive: true })
  })
})

describe('a bucket', () => {
  it('rejects wrong credentials and keeps the file', async () => {
    const from = file()
    const wrong = createS3Blobs({ ...s3, secretKey: 'another' })
    await expect(wrong.store('a', from, wav)).rejects.toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    await expect(wrong.read('a')).rejects.toMatchObject({ status: 403 })
    await expect(wrong.deleteAll('a')).rejects.toMatchObject({ status: 403 })
    expect(existsSync(from)).toBe(true)
  })

  it("reports the store's error, keeps type and length, and fails for a missing bucket", async () => {
    const blobs = createS3Blobs(s3)
    const from = file()
    s3.failures.push({ status: 503, code: 'SlowDown' })
    await expect(blobs.store('b', from, wav)).rejects.toThrow('The blob store answered 503 SlowDown')
    await blobs.store('b', from, wav)
    expect(s3.objects.get('b')).toMatchObject({ contentType: 'audio/wav', body: { length: bytes.length } })
    const other = createS3Blobs({ ...s3, url: s3.url.replace('/calls', '/other') })
    const stays = file()
    await expect(other.store('b', stays, wav)).rejects.toMatchObject({ code: 'NoSuchBucket' })
    expect(existsSync(stays)).toBe(true)
  })

  it('aborts an upload', async () => {
    const controller = new AbortController()
    const from = file()
    const taken = createS3Blobs(s3).store('c', from, { ...wav, signal: controller.signal })
    controller.abort()
    await expect(taken).rejects.toThrow()
    expect(existsSync(from)).toBe(true)
  })
})

describe('settings', () => {
  const env = (more: object = {}) => ({ PARLEY_HOME: join(home, 'parley'), PARLEY_SECRET: 'sixteen letters!', ...more })

  it('select home, folder or bucket', async () => {
    mkdirSync(join(home, 'parley'), { recursive: true })
    await createBlobs(readConfig(env())).store('a', file('x'), wav)
    expect(existsSync(join(home, 'parley', 'blobs', 'a'))).toBe(true)
    await createBlobs(readConfig(env({ BLOB_DIR: join(home, 'own') }))).store('a', file('x'), wav)
    expect(existsSync(join(home, 'own', 'a'))).toBe(true)
    const keys = { BLOB_S3_REGION: s3.region, BLOB_S3_ACCESS_KEY: s3.accessKey, BLOB_S3_SECRET_KEY: s3.secretKey }
    await createBlobs(readConfig(env({ BLOB_S3_URL: `${s3.url}/`, ...keys }))).store('set', file('x'), wav)
    expect(String(s3.objects.get('set')?.body)).toBe('x')
    expect(spoolFolder(readConfig(env({ ENGINE_NAME: 'e7' })))).toBe(join(home, 'parley', 'spool', 'e7'))
  })

  it('reject a bucket without keys', () => {
    expect(() => readConfig(env({ BLOB_S3_URL: s3.url }))).toThrow(ConfigError)
  })
})
