/**
 * Requests that the gateway refuses: without the token, for another host, from the page of another origin.
 */
export const secret = 'test-token-of-sufficient-length'

/** Name, path and headers. */
export const refusedTokens: [string, string, Record<string, string | string[]>][] = [
  ['no token', '/token', {}],
  ['a wrong token', '/token', { authorization: 'Bearer another-token-of-sufficient-length' }],
  ['a token cut by one character', '/token', { authorization: `Bearer ${secret.slice(0, -1)}` }],
  ['a token with one character more', '/token', { authorization: `Bearer ${secret}x` }],
  ['a token in another case', '/token', { authorization: `Bearer ${secret.toUpperCase()}` }],
  ['an empty bearer', '/token', { authorization: 'Bearer ' }],
  ['the token without its scheme', '/token', { authorization: secret }],
  ['basic authentication with the token', '/token', { authorization: `Basic ${btoa(`api:${secret}`)}` }],
  ['the token in the query', `/token?token=${secret}&access_token=${secret}`, {}],
  ['the token in a cookie', '/token', { cookie: `token=${secret}; authorization=Bearer ${secret}` }],
  ['the token in another header', '/token', { 'x-api-key': secret, 'proxy-authorization': `Bearer ${secret}` }],
  ['two tokens in one header', '/token', { authorization: `Bearer wrong, Bearer ${secret}` }],
  ['a claim to come from this machine', '/token', { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' }],
  ['a claimed user', '/token', { 'x-forwarded-user': 'owner', forwarded: 'for=127.0.0.1;host=localhost' }],
]
export const refusedHosts = [
  'evil.com',
  'evil.com:8642',
  'localhost.evil.com',
  '127.0.0.1.evil.com',
  'localhost@evil.com',
  'evil.com#localhost',
  '127.0.0.1:8642@evil.com',
  '127.0.0.2',
  '0.0.0.0',
  '[::ffff:127.0.0.1]',
  '2130706433',
  'localhost:port',
  'localhost, evil.com',
]
export const refusedOrigins = [
  'http://evil.com',
  'https://evil.com',
  'null',
  'http://localhost:3000',
  'http://localhost',
  'https://127.0.0.1.evil.com',
  'file://',
  'chrome-extension://abcdef',
  'http://localhost@evil.com',
]
