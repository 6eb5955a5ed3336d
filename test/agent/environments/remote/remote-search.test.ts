/**
 * Searches in a place without ripgrep, whose shell is a fake.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchRemotely } from '../../../../src/agent/environments/remote/remote-search.ts'
import type { RunScript } from '../../../../src/agent/environments/remote/script-runner.ts'

const { signal } = new AbortController()
const request = { path: '/w', target: 'files', pattern: '*.ts', fileGlob: undefined, limit: 10 } as const

/** Lists files by `list`, and ends only when it is told to. */
function placeWith(list: (write: (text: string) => void) => void) {
  const runScript: RunScript = async (script, { onOutput, stop }) => {
    const write = (text: string) => onOutput?.(Buffer.from(text))
    if (script.includes('command -v rg')) write('directory\nno-ripgrep\n\0end 0\n')
    else {
      const stopped = new Promise((resolve) => stop?.addEventListener('abort', resolve))
      list(write)
      await stopped
    }
    return Buffer.alloc(0)
  }
  return { root: '/w', mayRead: () => true, runScript, signal }
}

test('a tree whose listing does not end is left at the time limit, with what was found', async () => {
  const place = placeWith((write) => write('directory\n./a.ts\0./b.md\0./cut-off.t'))
  const found = await searchRemotely({ ...request, timeoutMs: 20 }, place)
  assert.deepEqual(found, { ok: true, hits: [{ path: '/w/a.ts', line: 0, text: '' }], stopped: 'timeout' })
})

test('a list of files without end does not fill the memory', async () => {
  const name = `./${'x'.repeat(200)}.md\0`
  const place = placeWith((write) => {
    write('directory\n./a.ts\0')
    for (let bytes = 0; bytes < 20_000_000; bytes += 1_000 * name.length) write(name.repeat(1_000))
  })
  const found = await searchRemotely({ ...request, timeoutMs: 60_000 }, place)
  assert.deepEqual(found, { ok: true, hits: [{ path: '/w/a.ts', line: 0, text: '' }], stopped: 'limit' })
})
