/**
 * A browser that runs already (`browser.cdp_url`): what the gateway enforces in it, on this machine and behind another address.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { findBrowser } from '../../../src/agent/browser/find-browser.ts'
import { isPublicAddress } from '../../../src/media/public-address.ts'
import { browserSkip, openBrowsers, openSite } from './open-browsers.ts'

/** A Chromium as a person starts it. Resolves with the port of its DevTools. */
async function startChromium(): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const found = findBrowser({ executable_path: '', cdp_url: '' }, process.env['PATH'] ?? '')
  if (found === undefined || !('executablePath' in found)) throw new Error('no Chromium is installed')
  const profile = mkdtempSync(join(tmpdir(), 'hermes-cdp-'))
  const args = ['--headless', '--disable-gpu', '--no-first-run', '--remote-debugging-port=0']
  const root = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const child = spawn(found.executablePath, [...args, ...root, `--user-data-dir=${profile}`, 'about:blank'], {
    env: { ...process.env, HOME: profile },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = once(child, 'close')
  let text = ''
  const port = await new Promise<number>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (more: string) => {
      text += more
      const shown = /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1]
      if (shown !== undefined) resolve(Number(shown))
    })
    void closed.then(() => reject(new Error(text)))
  })
  return {
    port,
    async stop() {
      child.kill('SIGKILL')
      await closed
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

describe('a browser that runs already', { skip: browserSkip }, async () => {
  if (browserSkip !== false) return
  const chromium = await startChromium()
  // The same browser, as one that is not on this machine.
  const relay = createServer((socket) => {
    const other = connect(chromium.port, '127.0.0.1')
    for (const side of [socket, other]) side.on('error', () => undefined)
    socket.pipe(other).pipe(socket)
  })
  await once(relay.listen(0, '127.0.0.2'), 'listening')
  const address = relay.address()
  if (address === null || typeof address === 'string') throw new Error('the relay has no port')
  const closed = await openSite({ '/': '<title>Private</title>secret' }, '127.0.0.2')
  const site = await openSite({
    '/': '<title>Open</title>',
    '/away': (response) => void response.writeHead(302, { location: closed.origin }).end(),
  })
  const opened = openBrowsers(
    { allow_private_urls: false, cdp_url: `http://127.0.0.1:${chromium.port}` },
    { isAllowed: (host) => host === '127.0.0.1' || isPublicAddress(host) },
  )
  const { call } = opened
  const go = (url: string) => call('browser_navigate', { url })
  const run = async (expression: string) => (await call('browser_console', { expression }))['result']
  const reach = (made: string) =>
    run(
      `new Promise((done) => { const at = ${made}; at.onopen = () => done('open'); at.onerror = at.onclose = () => done('refused') })`,
    )
  const pagesOfSite = async () => {
    const listed = await (await fetch(`http://127.0.0.1:${chromium.port}/json/list`)).text()
    return listed.split(`"url": "${site.origin}/"`).length - 1
  }
  after(async () => {
    await opened.close()
    relay.close()
    await chromium.stop()
    site.close()
    closed.close()
  })

  test('reaches no private address from this machine, also by a redirect, a part of a page and a socket', async () => {
    assert.equal((await go(`${site.origin}/`))['title'], 'Open')
    assert.equal((await go(closed.origin))['code'], 'url_not_allowed')
    assert.equal((await go(`${site.origin}/away`))['code'], 'url_not_allowed')
    assert.equal((await go(`${site.origin}/`))['title'], 'Open')
    await run(`fetch('${closed.origin}/part', { mode: 'no-cors' }).catch(() => 0)`)
    assert.equal(await reach(`new WebSocket('ws://127.0.0.2:${closed.port}/')`), '"refused"')
    assert.deepEqual(closed.requests, [])
  })

  test('goes on when the gateway has closed its pages, of which nothing is left', async () => {
    assert.equal(await pagesOfSite(), 1)
    await opened.browsers.close()
    for (let tries = 0; tries < 100 && (await pagesOfSite()) > 0; tries += 1) await setTimeout(50)
    assert.equal(await pagesOfSite(), 0)
    assert.deepEqual(readdirSync(opened.directory), [])
    assert.equal((await go(`${site.origin}/`))['title'], 'Open')
  })

  test('behind another address is asked about the first address of each request', async () => {
    opened.settings = { ...opened.settings, cdp_url: `http://127.0.0.2:${address.port}` }
    assert.equal((await go(`${site.origin}/`))['title'], 'Open')
    assert.equal((await go(closed.origin))['code'], 'url_not_allowed')
    assert.equal((await go(`${site.origin}/`))['title'], 'Open')
    assert.equal(
      await run(`fetch('${closed.origin}/part', { mode: 'no-cors' }).then(() => 'read', () => 'refused')`),
      '"refused"',
    )
    assert.equal(await reach(`new WebSocket('ws://127.0.0.2:${closed.port}/')`), '"refused"')
    assert.deepEqual(closed.requests, [])
  })
})
