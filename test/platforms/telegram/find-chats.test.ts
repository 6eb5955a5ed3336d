import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signal, startTelegramTest } from './support.ts'

test('a public chat is found by its @name, and a private one by its id only', async (t) => {
  const { adapter } = await startTelegramTest(t, { server: { publicChats: { town_news: -100_5 } } })
  assert.deepEqual(await adapter.findChats?.('@town_news', signal), [{ chatId: '-1005', name: 'town_news' }])
  assert.deepEqual(await adapter.findChats?.('@no_one', signal), [])
  assert.deepEqual(await adapter.findChats?.('#family', signal), [])
})
