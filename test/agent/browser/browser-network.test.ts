import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, describe, test } from 'node:test'
import { isPublicAddress } from '../../../src/media/public-address.ts'
import { closedAddresses, loopbackHosts } from '../../media/closed-addresses.ts'
import { browserSkip, openBrowsers, openSite } from './open-browsers.ts'

/** The site of the test stands for a public address. Other addresses of this machine are private. */
const isAllowed = (address: string) => address === '127.0.0.1' || isPublicAddress(address)

const bracketed = (address: string) => (address.includes(':') ? `[${address.replace(/%.*/, '')}]` : address)

describe('a page cannot reach a private address', { skip: browserSkip }, async () => {
  if (browserSkip !== false) return
  const closed = await openSite({ '/': '<title>Private</title>secret' }, '127.0.0.2')
  let lookups = 0
  const names: Readonly<Record<string, () => string>> = {
    'open.test': () => '127.0.0.1',
    'private.test': () => '127.0.0.2',
    // The first answer is for the check, the later ones for the connection.
    'rebind.test': () => (++lookups === 1 ? '127.0.0.1' : '127.0.0.2'),
  }
  const opened = openBrowsers(
    { allow_private_urls: false },
    {
      isAllowed,
      async resolve(name) {
        const address = names[name]?.() ?? name
        if (!/^[\d.]+$|:/.test(address)) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
        return [{ address, family: address.includes(':') ? 6 : 4 }]
      },
    },
  )
  const away = (location: string) => (response: ServerResponse) => void response.writeHead(302, { location }).end()
  const parts = `http://private.test:${closed.port}`
  // It answers when both requests have ended, and the first one shows that it has asked.
  const worker = `const settle = (url) => fetch(url, { mode: 'no-cors' }).catch(() => 0)
    onmessage = async ({ data, ports }) => { await settle('/asked-by-' + data); await settle('${parts}/w'); ports[0].postMessage('done') }`
  const site = await openSite({
    '/': '<title>Open</title>',
    '/to-private': away(`http://127.0.0.2:${closed.port}/`),
    '/to-name': away(`${parts}/`),
    '/to-https': away('https://private.test/'),
    '/to-metadata': away('http://169.254.169.254/latest/meta-data/'),
    '/to-file': away('file:///etc/passwd'),
    '/script-away': `<title>Script</title><script>location = '${parts}/'</script>`,
    '/frame': `<title>Frame</title><iframe src="${parts}/"></iframe><img src="${parts}/a.png"><link rel="stylesheet" href="${parts}/a.css"><link rel="preconnect" href="${parts}"><link rel="prefetch" href="${parts}/p"><object data="${parts}/o"></object><video src="${parts}/v"></video>`,
    '/worker.js': (response) => void response.writeHead(200, { 'content-type': 'text/javascript' }).end(worker),
  })
  const { call } = opened
  after(async () => {
    await opened.close()
    site.close()
    closed.close()
  })
  const at = (path: string) => `http://open.test:${site.port}${path}`
  const run = async (expression: string) => {
    const answer = await call('browser_console', { expression })
    assert.ok('result' in answer, JSON.stringify(answer))
    return answer['result']
  }

  test('by its address, in any notation', async () => {
    const urls = [
      ...closedAddresses.filter((address) => address !== '127.0.0.1').map((address) => `http://${bracketed(address)}/`),
      ...loopbackHosts.filter((host) => !/^(?:127|0x7f|2130|017|①)/.test(host)).map((host) => `http://${host}/`),
      ...[`http://private.test:${closed.port}/`, 'http://metadata.internal/', 'http://printer.local/'],
    ]
    for (const url of urls) assert.equal((await call('browser_navigate', { url }))['code'], 'url_not_allowed', url)
  })

  test('by another scheme', async () => {
    const urls = ['file:///etc/passwd', 'data:text/html,hi', 'chrome://version', 'javascript:alert(1)', 'about:blank']
    const more = [
      'view-source:http://open.test/',
      'ftp://open.test/',
      'blob:http://open.test/1',
      'http://a:b@open.test/',
    ]
    for (const url of [...urls, ...more])
      assert.equal((await call('browser_navigate', { url }))['code'], 'url_not_allowed', url)
  })

  test('by a redirect or a script', async () => {
    for (const path of ['/to-private', '/to-name', '/to-https', '/to-metadata']) {
      assert.equal((await call('browser_navigate', { url: at(path) }))['code'], 'url_not_allowed', path)
      const shown = await call('browser_console', { expression: 'location.href' })
      assert.equal(shown['result'], '"about:blank"', JSON.stringify(shown))
    }
    assert.equal(typeof (await call('browser_navigate', { url: at('/to-file') }))['code'], 'string')
    await call('browser_navigate', { url: at('/script-away') })
    // The page that the script leaves ends what runs in it.
    await call('browser_console', { expression: 'new Promise((done) => setTimeout(done, 300))' })
    const shown = await call('browser_console', { expression: 'document.documentElement.outerHTML' })
    assert.doesNotMatch(JSON.stringify(shown), /secret|root:/)
    assert.deepEqual(closed.requests, [])
  })

  test('by the parts of a page, a socket or a worker', async () => {
    const opened = await call('browser_navigate', { url: at('/frame') })
    assert.equal(opened['title'], 'Frame', JSON.stringify(opened))
    const socket = `new Promise((done) => { const s = new WebSocket('ws://private.test:${closed.port}/'); s.onopen = () => done('open'); s.onerror = () => done('refused') })`
    assert.equal(await run(socket), '"refused"')
    assert.equal(
      await run(`fetch('http://127.0.0.2:${closed.port}/', { mode: 'cors' }).then(() => 'read', () => 'refused')`),
      '"refused"',
    )
    await run(`navigator.sendBeacon('${parts}/b')`)
    assert.deepEqual(closed.requests, [])
  })

  test('by a worker or a service worker', async () => {
    // A service worker needs a page of this machine, or one that is encrypted.
    assert.equal((await call('browser_navigate', { url: `http://127.0.0.1:${site.port}/` }))['title'], 'Open')
    const ask = (made: string, name: string) =>
      run(`${made}.then((worker) => new Promise((done) => {
        const { port1, port2 } = new MessageChannel(); port1.onmessage = ({ data }) => done(data); worker.postMessage('${name}', [port2]) }))`)
    assert.equal(await ask(`Promise.resolve(new Worker('/worker.js'))`, 'worker'), '"done"')
    const registered = `navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(({ active }) => active)`
    assert.equal(await ask(registered, 'service-worker'), '"done"')
    assert.ok(site.requests.includes('GET /asked-by-worker') && site.requests.includes('GET /asked-by-service-worker'))
    assert.deepEqual(closed.requests, [])
  })

  test('by a name that changes its address after the check', async () => {
    const { code } = await call('browser_navigate', { url: `http://rebind.test:${closed.port}/` })
    assert.equal(code, 'url_not_allowed')
    assert.ok(lookups >= 2)
    assert.deepEqual(closed.requests, [])
  })

  test('by WebRTC', async () => {
    await call('browser_navigate', { url: at('/') })
    const gather = `new Promise((done) => { const found = []; const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.2:3478' }] });
      peer.onicecandidate = ({ candidate }) => candidate === null ? done(found) : found.push(candidate.candidate);
      peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer)); setTimeout(() => done(found), 3000) })`
    assert.equal(await run(gather), '[]')
  })

  test('unless the operator permits it, and never that of a metadata service', async () => {
    opened.settings = { ...opened.settings, allow_private_urls: true }
    assert.equal((await call('browser_navigate', { url: `http://127.0.0.2:${closed.port}/` }))['title'], 'Private')
    for (const address of ['169.254.169.254', '100.100.100.200', '[fd00:ec2::254]', '168.63.129.16'])
      assert.equal((await call('browser_navigate', { url: `http://${address}/` }))['code'], 'url_not_allowed', address)
  })
})
