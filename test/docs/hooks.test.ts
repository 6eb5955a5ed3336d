/**
 * Installs the hooks of the pages into an empty home and runs them.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseHookManifest } from '../../src/hooks/manifest.ts'
import { ensureDirectory } from '../../src/lib/files.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { readPage } from './pages.ts'
import { textOf } from './repository.ts'

test('the steps of the hook tutorial work', async (t) => {
  const path = 'docs/tutorial/your-first-hook.md'
  const { blocks } = await readPage(path, textOf(path))
  const manifest = blocks.find(({ file }) => file === 'diary/HOOK.yaml')?.text ?? ''
  const [first = '', second = '', third = ''] = blocks
    .filter(({ file }) => file === 'diary/handler.ts')
    .map(({ text }) => text)
  const gateway = await startTestGateway(t)
  const folder = join(gateway.home.hooks, 'diary')
  const handler = join(folder, 'handler.ts')
  ensureDirectory(folder)
  writeFileSync(join(folder, 'HOOK.yaml'), manifest)
  writeFileSync(handler, first)
  await gateway.waitForLog("Loaded hook 'diary' for events: agent:start, agent:end")
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')

  writeFileSync(handler, second)
  await gateway.waitForLog("Reloaded hook 'diary'")
  writeFileSync(handler, second.trimEnd().slice(0, -1))
  await gateway.waitForLog('hook.previous_version_kept')
  await gateway.say('again')
  await gateway.waitForReply('You said: again')

  writeFileSync(join(folder, 'HOOK.yaml'), manifest.replace(/events:[\s\S]*/, 'events: command:version\n'))
  writeFileSync(handler, third)
  await gateway.waitForLog('for events: command:version')
  await gateway.say('/version')
  await gateway.waitForReply('That is a secret.')
  await gateway.stop()
  const lines = readFileSync(join(folder, 'diary.txt'), 'utf8').trim().split('\n')
  assert.deepEqual(lines.slice(0, 2), ['agent:start: hello', 'agent:end: hello'])
  assert.match(lines.slice(2).join('\n'), /^\d{4}-\S+Z agent:start: again\n\d{4}-\S+Z agent:end: again$/)
})

test('the hook manifests on the pages are valid', async () => {
  for (const path of ['docs/how-to/write-a-hook.md', 'docs/tutorial/your-first-hook.md']) {
    const { blocks } = await readPage(path, textOf(path))
    const manifests = blocks.filter(({ file }) => file?.endsWith('HOOK.yaml'))
    assert.ok(manifests.length > 0, path)
    for (const { text } of manifests) {
      const check = parseHookManifest(text, 'HOOK.yaml', { folder: 'x', eventIssue: () => undefined })
      assert.ok(check.ok, JSON.stringify(check))
    }
  }
})
