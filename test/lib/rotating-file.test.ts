/**
 * Rotation of line files: complete lines in order, a bounded number of files, and no write outside the root.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createRotatingFile, type RotatingFile } from '../../src/lib/rotating-file.ts'
import { tempHome } from '../kit/temp-home.ts'

function linesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  assert.ok(text.endsWith('\n'))
  return text.slice(0, -1).split('\n')
}

const writers: readonly [string, (file: RotatingFile, lines: readonly string[]) => Promise<void>][] = [
  ['synchronous', async (file, lines) => lines.forEach((line) => void file.appendSync(`${line}\n`))],
  ['asynchronous', (file, lines) => file.append(lines)],
]

for (const [name, append] of writers) {
  test(`a full file is rotated, lines stay complete and in order, the oldest file is deleted (${name})`, async (t) => {
    const root = tempHome(t)
    const path = join(root, 'events')
    const file = createRotatingFile({ root, path, maxBytes: 40, keepFiles: 2 })
    // Each line has 10 bytes with its line break.
    const lines = Array.from({ length: 14 }, (_, number) => `line ${String(number).padStart(4, '0')}`)
    await append(file, lines.slice(0, 5))
    for (const line of lines.slice(5)) await append(file, [line])
    const huge = 'x'.repeat(100)
    await append(file, [huge, 'after'])
    file.close()
    assert.deepEqual(readdirSync(root).sort(), ['events', 'events.1', 'events.2'])
    assert.deepEqual(linesOf(`${path}.2`), lines.slice(12))
    assert.deepEqual(linesOf(`${path}.1`), [huge])
    assert.deepEqual(linesOf(path), ['after'])
  })

  test(`an incomplete last line does not corrupt the next one, and the file becomes private (${name})`, async (t) => {
    const root = tempHome(t)
    const path = join(root, 'deep/events')
    mkdirSync(join(root, 'deep'))
    writeFileSync(path, '{"whole":1}\n{"cut', { mode: 0o644 })
    const file = createRotatingFile({ root, path, maxBytes: 1_000, keepFiles: 2 })
    await append(file, ['{"next":1}'])
    file.close()
    assert.deepEqual(linesOf(path), ['{"whole":1}', '{"cut', '{"next":1}'])
    assert.equal(statSync(path).mode & 0o777, 0o600)
  })

  test(`keepFiles: 0 keeps no rotated file (${name})`, async (t) => {
    const root = tempHome(t)
    const file = createRotatingFile({ path: join(root, 'events'), maxBytes: 10, keepFiles: 0 })
    for (const line of ['one', 'two', 'three', 'four']) await append(file, [line])
    file.close()
    assert.deepEqual(readdirSync(root), ['events'])
    assert.deepEqual(linesOf(join(root, 'events')), ['four'])
  })
}

test('a link does not lead out of the root', async (t) => {
  const [root, elsewhere] = [tempHome(t), tempHome(t)]
  symlinkSync(elsewhere, join(root, 'logs'))
  const inLinkedDirectory = createRotatingFile({ root, path: join(root, 'logs/events'), maxBytes: 100, keepFiles: 1 })
  await assert.rejects(inLinkedDirectory.append(['x']), /outside/)
  symlinkSync(join(elsewhere, 'target'), join(root, 'events'))
  const link = createRotatingFile({ root, path: join(root, 'events'), maxBytes: 100, keepFiles: 1 })
  await assert.rejects(link.append(['x']), { code: 'ELOOP' })
  assert.deepEqual(readdirSync(elsewhere), [])
})
