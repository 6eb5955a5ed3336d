/**
 * Checks whether an IP address is public. Machines at other addresses may trust requests from the gateway.
 */
import ipaddr from 'ipaddr.js'

/** IPv4 or IPv6 in any notation. Invalid addresses are not public. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // Converts IPv4-mapped IPv6 addresses to IPv4.
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return isPublicV4(parsed)
  const bytes = parsed.toByteArray()
  const embeddedIpv4 = bytes.slice(-4)
  if (startsWith(bytes, nat64Prefix)) return isPublicV4(ipaddr.fromByteArray(embeddedIpv4))
  // Only 2000::/3 is allocated for global unicast.
  return parsed.range() === 'unicast' && ((bytes[0] ?? 0) & 0xe0) === 0x20
}

type ParsedAddress = ReturnType<typeof ipaddr.parse>

function isPublicV4(address: ParsedAddress): boolean {
  return address.range() === 'unicast' && !cloudHostAddresses.includes(address.toString())
}

/** Host services of cloud providers at addresses in public ranges. */
const cloudHostAddresses = ['168.63.129.16']

/** 64:ff9b::/96, the prefix for IPv4 addresses in networks without IPv4. */
const nat64Prefix = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]

function startsWith(bytes: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte)
}
