/**
 * Unit tests of small parts of the adapter.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIdentifyThrottler } from '../../../platforms/discord/connection/identify-throttler.ts'
import { createChannelQueue } from '../../../platforms/discord/inbound/channel-queue.ts'
import { createGuildCache, isThread } from '../../../platforms/discord/inbound/guild-cache.ts'
import { isNewer, newest, snowflakeToTime, timeToSnowflake } from '../../../platforms/discord/inbound/snowflake.ts'
import { parseOptions } from '../../../platforms/discord/options.ts'
import { parseVoice } from '../../../platforms/discord/outbound/voice.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { neverAborted } from './support.ts'

describe('ids', () => {
  test('an id yields its time, and a time its first id', () => {
    // The example of Discord's reference.
    assert.equal(snowflakeToTime('175928847299117063'), Date.parse('2016-04-30T11:18:25.796Z'))
    assert.equal(snowflakeToTime(timeToSnowflake(1_700_000_000_123)), 1_700_000_000_123)
    assert.equal(timeToSnowflake(0), '0')
  })

  test('the longer id is newer; of two with the same length the larger one', () => {
    assert.equal(isNewer('100', '99'), true)
    assert.equal(isNewer('99', '100'), false)
    assert.equal(isNewer('99', '99'), false)
    assert.equal(newest(['99', '100', '98']), '100')
    assert.equal(newest([]), undefined)
  })
})

describe('options', () => {
  test('missing options take the documented defaults', () => {
    const options = parseOptions({ token: ' t ' })
    assert.deepEqual(
      [
        options.token,
        options.apiUrl,
        options.usesOwnApi,
        options.requireMention,
        options.autoThread,
        options.reactions,
      ],
      ['t', 'https://discord.com/api', false, true, true, false],
    )
    assert.deepEqual(options.allowedMentions, { everyone: false, roles: false, users: false, repliedUser: true })
    assert.equal(options.allowBots, 'none')
  })

  test('a token with the prefix of the request header is rejected without repeating it', () => {
    assert.throws(
      () => parseOptions({ token: 'Bot secret-of-the-bot' }),
      (error) =>
        isHermesError(error, 'config/invalid') &&
        /discord\.token: it begins with "Bot "/.test(error.message) &&
        !/secret-of/.test(error.message),
    )
  })

  test('another API is used, with or without a trailing slash', () => {
    assert.deepEqual(parseOptions({ api_url: 'http://127.0.0.1:9/api/' }).apiUrl, 'http://127.0.0.1:9/api')
    assert.equal(parseOptions({ api_url: 'http://127.0.0.1:9/api' }).usesOwnApi, true)
  })
})

describe('the guild cache', () => {
  const guild = {
    id: '1',
    roles: [{ id: '5', name: 'Hermes', tags: { bot_id: '9' } }],
    channels: [{ id: '2', type: 0, name: 'general', last_message_id: '77' }],
    threads: [{ id: '3', type: 11, name: 'Gears', parent_id: '2', owner_id: '8' }],
  }
  const known = () => {
    const cache = createGuildCache()
    cache.handleReady({ user: { id: '9', username: 'Hermes' }, application: { id: '10' } })
    cache.update({ t: 'GUILD_CREATE', s: 1, d: guild })
    return cache
  }

  test('it knows the bot, its role, channels and threads', () => {
    const cache = known()
    assert.deepEqual(cache.botUser(), { id: '9', name: 'Hermes', applicationId: '10' })
    assert.equal(cache.isOwnRole('5'), true)
    assert.equal(cache.channel('2')?.name, 'general')
    assert.equal(isThread(cache.channel('3')), true)
    assert.deepEqual([...cache.newestMessages()], [['2', '77']])
  })

  test('the newest messages count for one session only', () => {
    const cache = known()
    cache.handleReady({ user: { id: '9', username: 'Hermes' } })
    assert.equal(cache.newestMessages().size, 0)
  })

  test('an update changes what it names and leaves the rest', () => {
    const cache = known()
    cache.update({ t: 'THREAD_MEMBERS_UPDATE', s: 2, d: { id: '3', added_members: [{ user_id: '9' }] } })
    cache.update({ t: 'THREAD_UPDATE', s: 3, d: { id: '3', type: 11, guild_id: '1', name: 'Cogs' } })
    assert.deepEqual(cache.channel('3'), {
      id: '3',
      type: 11,
      name: 'Cogs',
      guildId: '1',
      parentId: '2',
      ownerId: '8',
      joined: true,
    })
    cache.update({ t: 'THREAD_MEMBERS_UPDATE', s: 4, d: { id: '3', removed_member_ids: ['9'] } })
    assert.equal(cache.channel('3')?.joined, false)
  })

  test('deleted objects are removed, and an outage of a server removes nothing', () => {
    const cache = known()
    cache.update({ t: 'GUILD_DELETE', s: 2, d: { id: '1', unavailable: true } })
    assert.notEqual(cache.channel('2'), undefined)
    cache.update({ t: 'THREAD_DELETE', s: 3, d: { id: '3' } })
    cache.update({ t: 'GUILD_ROLE_DELETE', s: 4, d: { role_id: '5', guild_id: '1' } })
    assert.deepEqual([cache.channel('3'), cache.isOwnRole('5')], [undefined, false])
    cache.update({ t: 'GUILD_DELETE', s: 5, d: { id: '1' } })
    assert.equal(cache.channel('2'), undefined)
  })
})

describe('the channel queue', () => {
  test('an event waits for earlier ones of its channel only', async () => {
    const done: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const queue = createChannelQueue(silentLog, neverAborted, () => undefined)
    queue.push('a', async () => {
      await promise
      done.push('a1')
    })
    queue.push('a', async () => void done.push('a2'))
    queue.push('b', async () => void done.push('b1'))
    await queue.idle('b')
    assert.deepEqual(done, ['b1'])
    resolve()
    await queue.idle('a')
    assert.deepEqual(done, ['b1', 'a1', 'a2'])
  })

  test('events beyond the limit are left to the history, which is fetched when the queue is empty', async () => {
    const done: number[] = []
    const asked: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const onOverflow = (channel: string) => void asked.push(channel)
    const queue = createChannelQueue(silentLog, neverAborted, onOverflow, 3)
    for (const number of [1, 2, 3, 4, 5]) {
      queue.push('a', async () => {
        await promise
        // There is room again, but an event after the dropped ones would hide them from the history.
        if (number === 2) queue.push('a', async () => void done.push(6))
        done.push(number)
      })
    }
    resolve()
    await queue.idle('a')
    assert.deepEqual([done, asked], [[1, 2, 3], ['a']])
  })

  test('no job starts after the end', async () => {
    const closing = new AbortController()
    let tries = 0
    const queue = createChannelQueue(silentLog, closing.signal, () => undefined)
    queue.push('a', async () => {
      tries += 1
      closing.abort()
      throw new Error('the disk is full')
    })
    await queue.idle('a')
    queue.push('a', () => Promise.reject(new Error('it was begun')))
    assert.equal(tries, 1)
  })
})

describe('the identify throttler', () => {
  const limit = { total: 1_000, remaining: 1, reset_after: 0 }

  test('asks for the daily limit before every session but the first, which the login has checked', async () => {
    let requests = 0
    const throttler = createIdentifyThrottler({
      gapMs: 0,
      async fetchLimit() {
        requests += 1
        return { ...limit, remaining: 5 }
      },
      onLimit: () => assert.fail('it waited'),
    })
    await throttler.waitForIdentify(0, neverAborted)
    assert.equal(requests, 0)
    await throttler.waitForIdentify(0, neverAborted)
    assert.equal(requests, 1)
  })

  test('stops waiting for the reset of the limit when the signal aborts', async () => {
    const closing = new AbortController()
    const throttler = createIdentifyThrottler({
      gapMs: 0,
      fetchLimit: async () => ({ ...limit, remaining: 0, reset_after: 3_600_000 }),
      onLimit: () => closing.abort(),
    })
    await throttler.waitForIdentify(0, closing.signal)
    await assert.rejects(throttler.waitForIdentify(0, closing.signal))
  })
})

test('a recording in another format than Opus is no voice message', () => {
  const text = (value: string) => new TextEncoder().encode(value)
  for (const bytes of [text(''), text('OggS'), text(`OggS${'\0'.repeat(40)}vorbis`), text('RIFF....WAVE')]) {
    assert.equal(parseVoice(bytes), undefined)
  }
})
