import assert from 'node:assert/strict'
import { test } from 'node:test'
import { neverAborted, startSlackTest } from './support.ts'

test('the channels of the bot are found on all pages, without the private ones where the scope is missing', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  server.workspace.addChannel('C0NEWS', 'channel', true, 'news')
  server.workspace.addChannel('C0FOREIGN', 'channel', false, 'foreign')
  server.workspace.addChannel('G0BOARD', 'group', true, 'board')
  const names = async () => (await adapter.findChats?.('#news', neverAborted))?.map(({ name }) => name) ?? []
  const all = await names()
  assert.ok(all.includes('news') && all.includes('board') && !all.includes('foreign'), all.join(', '))
  server.scopes.delete('groups:read')
  const open = await names()
  assert.ok(open.includes('news') && !open.includes('board'), open.join(', '))
  server.scopes.delete('channels:read')
  await assert.rejects(names(), /channels:read/)
})
