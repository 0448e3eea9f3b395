/**
 * Some 300 places of two cities in the form of OpenStreetMap: all invented, with typical errors in phone numbers and
 * the intended numbers.
 */

export interface Place {
  /** `kazan/dentist/0`: for who gives some of them a website. */
  key: string
  city: 'kazan' | 'aberdeen'
  kind: string
  type: 'node' | 'way' | 'relation'
  id: number
  lat: number
  lon: number
  tags: Record<string, string>
  /** Phone numbers of the place, E.164. */
  phones: string[]
  /** Permanently closed, or without a name: not a lead. */
  gone: boolean
}

interface Kind {
  id: string
  tag: string
  kazan: string[]
  aberdeen: string[]
}

const list = (text: string) => text.split(',').map(name => name.trim())
const kind = (id: string, tag: string, kazan: string, aberdeen: string): Kind => ({
  id,
  tag,
  kazan: list(kazan),
  aberdeen: list(aberdeen),
})

const KINDS: readonly Kind[] = [
  kind(
    'dentist',
    'amenity=dentist',
    'Белый клык, Дент-А-Лайт, Улыбка Плюс, Стоматология №7, 32 Жемчужины, АльфаДент',
    'Harbour Dental, Granite Smile, Deeside Dental Care, Union Dental Practice, The Tooth Yard, Northlight Dentistry',
  ),
  kind(
    'clinic',
    'amenity=clinic',
    'Здоровье семьи, МедЛайн, Клиника на Бутлерова, Ак Чишмэ, ПульсМед, Авиценна-К',
    'Rubislaw Clinic, Bon Accord Health, Hazlehead Medical Centre, Silver City Clinic, Ferryhill Physio, Don Valley Health',
  ),
  kind(
    'pharmacy',
    'amenity=pharmacy',
    'Шифалы, Аптека у дома, Ромашковая, Живая вода, Фармакор-К, Подорожник',
    'Torry Pharmacy, Seaton Chemist, Kittybrewster Pharmacy, Castlegate Chemist, Old Mill Pharmacy, Links Pharmacy',
  ),
  kind(
    'veterinary',
    'amenity=veterinary',
    'Доктор Мурзик, Верный друг, АйболитЪ, Лапа и хвост, Зооветцентр, Бурёнка',
    'Grampian Paws, Seagull Vets, Cove Bay Veterinary, Westhill Animal Care, Tail & Whisker, Brig Vets',
  ),
  kind(
    'car_repair',
    'shop=car_repair',
    'Автодоктор, Гараж 116, МоторСервис, Пит-Стоп, Колесо удачи, ТехноЛайн',
    'Dee Motors, Granite Garage, Bridge Street Autos, Quay MOT Centre, Northfield Car Care, Mastrick Motor Works',
  ),
  kind(
    'hairdresser',
    'shop=hairdresser',
    'Локон, Чародейка, Стрижка-бритва, Айсылу, Контур, Мадам Жоли',
    'Shear Granite, The Wee Salon, Holburn Hair, Curl Up & Dye, Rosemount Barbers, Snip Quay',
  ),
  kind(
    'beauty',
    'shop=beauty',
    'Орхидея, Персона Грата, Ноготок, Лейсан, Бархат, Студия 5',
    'Lochside Beauty, Pearl & Polish, Thistle Nails, Glow Room, Silver Lash, Bonnie Beauty',
  ),
  kind(
    'cafe',
    'amenity=cafe',
    'Чак-Чак, Утро, Кофейный дворик, Пышка, Сказка на Кремлёвской, Тёплый угол',
    'The Bread Harbour, Dee Beans, Cup & Cove, Granite Roast, Mither Tap Coffee, Lighthouse Café',
  ),
  kind(
    'restaurant',
    'amenity=restaurant',
    'Казан-аш, Туган Авылым-2, Рыба и мёд, Дастархан, Старый мост, Пельменная на Баумана',
    'The Silver Darling Two, Haar, Footdee Fish House, Peat & Pine, Spice Quay, Little Napoli',
  ),
  kind(
    'hotel',
    'tourism=hotel',
    'Волжская, Булак, Каравелла, Гостевой дом Ильдана, Кристалл-Отель, Сююм',
    'Granite Inn, The Dee View, Castlegate Hotel, Harbour Rooms, Old Aberdon Lodge, Marischal House',
  ),
  kind(
    'bakery',
    'shop=bakery',
    'Ипи, Хлеб да соль, Каравай, Пекарня Камиля, Булочная №1, Тесто',
    'Rowie & Sons, Torry Bakers, The Oatcake, Crumb Street, Quayside Bakery, Sourdough North',
  ),
  kind(
    'florist',
    'shop=florist',
    'Букетная, Сирень, Цветы 24, Мимоза, Гортензия, Лепесток',
    'Thistle & Rose, Bloom Quay, Petal & Stem, Heather Florist, Garden of Dee, Wildflower Yard',
  ),
  kind(
    'lawyer',
    'office=lawyer',
    'Фемида-К, Юрист рядом, Право и дело, Бюро Галиева, Закон 16, Защита',
    'Macrae & Bain, Stronach Fyfe, Granite Law, Ledingham Orr, Dee Legal, Union Row Solicitors',
  ),
  kind(
    'accountant',
    'office=accountant',
    'Баланс, Дебет-Кредит, ГлавБух 116, Первый учёт, Отчёт в срок, Актив',
    'Ledger & Co, Silver Numbers, Balmoral Accounts, Hall & Tait CA, Don Books, Cairn Accounting',
  ),
  kind(
    'estate_agent',
    'office=estate_agent',
    'Новый адрес, Ключи, Этажи Поволжья, Домус, Метр квадратный, Гарант',
    'Keys of Aberdon, Granite Lets, Deeside Homes, North Property, Rosemount Lettings, Quay Estates',
  ),
  kind(
    'supermarket',
    'shop=supermarket',
    'Бахетле-мини, Корзинка, Продукты у Розы, Эдельвейс, Авокадо, Семейный',
    'Fresh Harbour, Corner Larder, Dee Foods, Mastrick Market, Northern Basket, Torry Stores',
  ),
  kind(
    'furniture',
    'shop=furniture',
    'Мир диванов, Шкаф и точка, Уютный дом, Мебельградъ, Лофт-Казань, Дубрава',
    'Granite Oak, Sofa Quay, Hearth & Home, Old Town Chairs, Nordic Wood, The Table Works',
  ),
  kind(
    'fitness',
    'leisure=fitness_centre',
    'Батыр, Форма, Пульс-Фит, Железный мир, Йога на Волге, Старт',
    'Granite Gym, Dee Fit, The Iron Quay, Pilates North, Seaside Strength, Torry Boxing',
  ),
  kind(
    'driving_school',
    'amenity=driving_school',
    'Перекрёсток, Автошкола Юлдаш, Руль, Светофор-К, Категория Б, Вираж',
    'Pass North, Granite Wheels, Clutch & Co, Easy Deeside Driving, First Gear, L-Plate Academy',
  ),
  kind(
    'kindergarten',
    'amenity=kindergarten',
    'Солнышко, Балам, Умка, Маленький принц, Теремок, Йолдыз',
    'Wee Seagulls, Little Granite, Rosebank Nursery, Busy Bees of Dee, Acorn House, Rainbow Links',
  ),
  kind(
    'optician',
    'shop=optician',
    'Зоркий взгляд, Оптика Линза, Точка зрения, Окуляр, Хрусталик, Диоптрия',
    'Clear Quay, Granite Eyes, Spectacle Row, Holburn Opticians, North Sea Optics, Iris & Lens',
  ),
  kind(
    'dry_cleaning',
    'shop=dry_cleaning',
    'Белоснежка, Чистый лист, Пятновыводов, Лебедь, Аквачист, Диана-Сервис',
    'Spotless North, Press & Go, Granite Cleaners, White Gull Laundry, Dee Dry Clean, The Shirt Yard',
  ),
  kind(
    'electronics',
    'shop=electronics',
    'Розетка, ТелеМир, Искра, Гаджет 16, Волна, Микрон',
    'Spark Quay, North Gadgets, Silver Electronics, Wired Dee, Circuit House, Signal Row',
  ),
  kind(
    'jewelry',
    'shop=jewelry',
    'Алмаз Поволжья, Золотая нить, Энже, Карат, Серебряный век, Топаз',
    'Silver Cairn, Granite & Gold, Pearl of Dee, Marischal Jewellers, Ring & Rook, Amber North',
  ),
  kind(
    'craft_carpenter',
    'craft=carpenter',
    'Столярка Ахметова, Рубанок, Мастер-Дуб, Лесной дом, Сосна и ель, Тёплое дерево',
    'Plane & Grain, Deeside Joinery, Harbour Carpenters, Oak Brothers, Northwood Joiners, The Dovetail',
  ),
]

const STREETS = {
  kazan: list(
    'улица Зилантова, проспект Победителей, улица Мусы Залилова, Кольцевая улица, улица Габдуллы, Речная набережная, улица Космонавтов-Первых',
  ),
  aberdeen: list('Union Row, Harbour Lane, King’s Walk, Don Brae, Castle Wynd, Rosemount Steps, Quayside Road'),
}
/** South, west; and how far to the north and east places are strewn, in degrees. */
export const CITIES = {
  kazan: { south: 55.7, west: 48.95, height: 0.18, breadth: 0.3, name: 'Казань', relation: 9_001_116, country: 'ru' },
  aberdeen: {
    south: 57.11,
    west: -2.2,
    height: 0.08,
    breadth: 0.12,
    name: 'Aberdeen',
    relation: 9_001_224,
    country: 'gb',
  },
} as const

/** A number as one of many people would write it. */
const WRITTEN = {
  kazan: [
    (d: string) => `+7 843 ${d.slice(0, 3)}-${d.slice(3, 5)}-${d.slice(5)}`,
    (d: string) => `8 (843) ${d.slice(0, 3)}-${d.slice(3, 5)}-${d.slice(5)}`,
    (d: string) => `+7(843)${d}`,
    (d: string) => `8-843-${d.slice(0, 3)}-${d.slice(3)}`,
    (d: string) => `тел. +7 843 ${d.slice(0, 3)} ${d.slice(3, 5)} ${d.slice(5)}`,
    (d: string) => `7843${d}`,
  ],
  aberdeen: [
    (d: string) => `+44 1224 ${d}`,
    (d: string) => `01224 ${d.slice(0, 3)} ${d.slice(3)}`,
    (d: string) => `+44 (0)1224 ${d}`,
    (d: string) => `(01224) ${d}`,
    (d: string) => `+44-1224-${d.slice(0, 3)}-${d.slice(3)}`,
    (d: string) => `Tel: 01224${d}`,
  ],
}

const digits = (n: number, city: Place['city']) =>
  city === 'kazan' ? String(2_000_000 + n * 137) : String(620_000 + n * 37)
const e164 = (n: number, city: Place['city']) => `${city === 'kazan' ? '+7843' : '+441224'}${digits(n, city)}`
const written = (n: number, city: Place['city']) => WRITTEN[city][n % 6]!(digits(n, city))

/** By its number: which tags carry the telephone, and what is wrong with the place. */
function phoneTags(n: number, city: Place['city']): { tags: Record<string, string>; phones: string[] } {
  const [first, second] = [written(n, city), written(n + 1000, city)]
  const both = [e164(n, city), e164(n + 1000, city)]
  switch (n % 8) {
    case 0:
      return { tags: { phone: `${first}; ${second}` }, phones: both }
    case 1:
      return { tags: { 'contact:phone': first }, phones: both.slice(0, 1) }
    case 2:
      return { tags: { phone: first, 'contact:mobile': second }, phones: both }
    case 3:
      return { tags: { phone: first, fax: second }, phones: both.slice(0, 1) }
    case 4:
      return { tags: {}, phones: [] }
    case 5:
      return { tags: { 'phone:mobile': first }, phones: both.slice(0, 1) }
    default:
      return { tags: { phone: first }, phones: both.slice(0, 1) }
  }
}

const WRONG: readonly Record<string, string>[] = [{ opening_hours: 'off' }, { disused: 'yes' }, { name: '' }]

function place(city: Place['city'], { id: kindId, tag, ...names }: Kind, i: number, n: number): Place {
  const at = CITIES[city]
  const [key, value] = tag.split('=') as [string, string]
  const street = STREETS[city][n % STREETS[city].length]!
  const { tags: phone, phones } = phoneTags(n, city)
  const wrong = n % 29 === 28 ? WRONG[n % 3]! : {}
  const name = names[city][i]!
  const tags: Record<string, string> = {
    [key]: value,
    name,
    'addr:street': street,
    'addr:housenumber': String((n % 90) + 1),
    ...(n % 3 ? { 'addr:city': at.name } : {}),
    ...(city === 'aberdeen' && n % 2 ? { 'addr:postcode': `AB${10 + (n % 15)} ${n % 9}QX` } : {}),
    ...(n % 4 ? { opening_hours: n % 5 ? 'Mo-Fr 09:00-19:00; Sa 10:00-16:00' : 'Mo-Su 08:00-22:00' } : {}),
    ...(n % 6 === 0 ? { email: `info@p${n}.example` } : {}),
    ...(n % 2 ? { [n % 4 === 1 ? 'website' : 'contact:website']: `https://p${n}.example` } : {}),
    ...(n % 11 === 0 ? { brand: name, operator: `${name} Group` } : {}),
    ...(n % 7 === 0 ? { wheelchair: 'yes' } : {}),
    ...phone,
    ...wrong,
  }
  if (tags['name'] === '') delete tags['name']
  const type = (['node', 'node', 'way', 'node', 'relation'] as const)[n % 5]!
  const [lat, lon] = [at.south + at.height * ((n * 0.618034) % 1), at.west + at.breadth * ((n * 0.754878) % 1)]
  const rounded = { lat: Number(lat.toFixed(7)), lon: Number(lon.toFixed(7)) }
  // No brand without a name among those.
  const gone = n % 29 === 28 && !tags['brand']
  return {
    key: `${city}/${kindId}/${i}`,
    city,
    kind: kindId,
    type,
    id: 7_000_000_000 + n,
    ...rounded,
    tags,
    phones,
    gone,
  }
}

export const places: readonly Place[] = (['kazan', 'aberdeen'] as const).flatMap((city, c) =>
  KINDS.flatMap((one, k) => one[city].map((_, i) => place(city, one, i, c * KINDS.length * 6 + k * 6 + i))),
)
