/**
 * Kinds of businesses: health, beauty, cars, food, shops; the others are in niche-services.ts. Each entry has an id,
 * OpenStreetMap tags, and names in English and Russian. A name in capitals matches only in capitals.
 */
export const trade = `
dentist: amenity=dentist healthcare=dentist
  dentist, dental clinic, dental practice, dental office, dental surgery, dentistry, orthodontist, orthodontic clinic
  / стоматология, стоматологическая клиника, стоматолог, зубная клиника, стоматологический кабинет, ортодонт
  , стоматологический центр, зубной врач, стомклиника
doctor: amenity=doctors healthcare=doctor
  doctor, GP practice, doctor's office, medical practice, physician, general practitioner, family doctor
  / врач, кабинет врача, врачебный кабинет, терапевт
clinic: amenity=clinic healthcare=clinic healthcare=centre
  clinic, medical centre, medical center, polyclinic, health centre, health center, medical clinic
  / клиника, медицинский центр, медцентр, поликлиника, медицинская клиника, частная клиника
hospital: amenity=hospital healthcare=hospital
  hospital / больница, госпиталь, роддом
pharmacy: amenity=pharmacy healthcare=pharmacy shop=chemist
  pharmacy, drugstore, drug store, chemist / аптека, аптечный пункт
veterinary: amenity=veterinary
  veterinary clinic, vet, veterinarian, vet clinic, animal hospital, animal clinic, veterinary practice
  / ветеринарная клиника, ветклиника, ветеринар, ветеринарный центр, ветцентр, ветеринария
optician: shop=optician healthcare=optometrist
  optician, optometrist, optical store, eyewear store, optical shop / оптика, салон оптики, магазин очков
physiotherapy: healthcare=physiotherapist
  physiotherapist, physiotherapy clinic, physical therapist, physio, physical therapy clinic
  / физиотерапевт, физиотерапия, реабилитационный центр, центр реабилитации, остеопат, мануальный терапевт
psychotherapy: healthcare=psychotherapist
  psychotherapist, psychologist, therapist, counselling practice, counseling practice
  / психолог, психотерапевт, психологический центр, кабинет психолога
laboratory: healthcare=laboratory
  medical laboratory, medical lab, diagnostic lab, diagnostic laboratory, diagnostic centre, diagnostic center
  / медицинская лаборатория, диагностический центр, лаборатория анализов, пункт сдачи анализов
nursing_home: amenity=nursing_home social_facility=nursing_home social_facility=assisted_living
  nursing home, care home, retirement home, senior living community / дом престарелых, пансионат для пожилых
chiropractor: healthcare=chiropractor
  chiropractor, chiropractic clinic / хиропрактик, мануальная терапия
hairdresser: shop=hairdresser
  hairdresser, hair salon, hair stylist, hairdressing salon / парикмахерская, парикмахер, салон причесок
barber: hairdresser=barber shop=hairdresser
  barber, barber shop, barbershop / барбершоп, барбер, мужская парикмахерская
beauty: shop=beauty
  beauty salon, beauty parlour, beauty parlor, cosmetologist, beauty studio, aesthetic clinic
  / салон красоты, студия красоты, косметология, косметолог, косметологическая клиника, бьюти-салон
  , косметический салон, центр косметологии, центр эстетической медицины
nails: beauty=nails
  nail salon, nail studio, nail bar, manicurist / маникюрный салон, студия маникюра, ногтевая студия, салон маникюра
massage: shop=massage
  massage salon, massage parlour, massage therapist, massage studio
  / массажный салон, массаж, массажист, студия массажа, массажный кабинет, салон массажа
spa: leisure=spa amenity=spa
  spa, day spa, spa salon, wellness centre, wellness center / спа, спа-салон, спа-центр, SPA-салон
tattoo: shop=tattoo
  tattoo studio, tattoo parlour, tattoo parlor, tattoo shop / тату-салон, тату-студия, тату салон, салон татуировки
cosmetics: shop=cosmetics shop=perfumery
  cosmetics shop, cosmetics store, perfumery, perfume shop / магазин косметики, парфюмерия, магазин парфюмерии
solarium: leisure=tanning_salon shop=tanning
  tanning salon, solarium, tanning studio / солярий, студия загара
car_repair: shop=car_repair service:vehicle:car_repair=yes
  car repair, auto repair shop, garage, car repair shop, auto repair, car service, mechanic, auto body shop, body shop
  , car workshop, auto shop
  / автосервис, ремонт автомобилей, автомастерская, ремонт авто, автотехцентр, техцентр, автоцентр, СТО
  , станция техобслуживания, станция технического обслуживания, кузовной ремонт, автоателье
car_wash: amenity=car_wash
  car wash, carwash, car detailing, detailing studio, auto detailing / автомойка, мойка, детейлинг, мойка автомобилей
  , детейлинг-центр, детейлинг-студия
tyres: shop=tyres
  tyre shop, tire shop, tyre service, tire service, tire store / шиномонтаж, шиномонтажная мастерская, магазин шин
car_dealer: shop=car
  car dealer, car dealership, auto dealer, used car dealer / автосалон, автодилер, дилерский центр, дилер автомобилей
car_parts: shop=car_parts
  auto parts store, car parts shop, car parts, auto parts / автозапчасти, магазин автозапчастей, запчасти
car_rental: amenity=car_rental
  car rental, car hire, rent a car, car rental company / прокат автомобилей, аренда автомобилей, прокат авто, аренда авто
driving_school: amenity=driving_school
  driving school / автошкола
fuel: amenity=fuel
  petrol station, gas station, filling station, fuel station / автозаправка, азс, заправка, автозаправочная станция
charging: amenity=charging_station
  charging station, EV charging station / зарядная станция, электрозарядка
vehicle_inspection: amenity=vehicle_inspection
  vehicle inspection, MOT centre, MOT center, smog check station / техосмотр, пункт техосмотра
motorcycle: shop=motorcycle shop=motorcycle_repair
  motorcycle dealer, motorcycle shop, motorcycle repair / мотосалон, мотосервис
truck_repair: shop=truck_repair shop=truck
  truck repair, truck dealer, truck service / грузовой сервис, грузовой автосервис, ремонт грузовиков
parking: amenity=parking
  car park, parking lot, parking garage / парковка, автостоянка, платная парковка
bicycle: shop=bicycle
  bike shop, bicycle shop, bicycle store, bike repair shop, cycle shop / веломагазин, велосервис, магазин велосипедов
taxi: amenity=taxi office=taxi
  taxi company, taxi service, cab company, taxi / такси, таксопарк, служба такси
restaurant: amenity=restaurant
  restaurant, bistro, steakhouse, eatery, diner / ресторан, бистро, стейк-хаус
cafe: amenity=cafe
  cafe, café / кафе
coffee: cuisine=coffee_shop amenity=cafe
  coffee shop, coffeehouse, coffee house, coffee bar, espresso bar / кофейня, кофе с собой
coffee_roaster: craft=coffee_roaster shop=coffee
  coffee roaster, coffee roastery, roastery, coffee roasting company, coffee store / обжарщик кофе, кофейная обжарка
  , обжарка кофе, магазин кофе, ростерия
fast_food: amenity=fast_food
  fast food, fast food restaurant, takeaway, burger joint, burger bar / фастфуд, бургерная, шаурма, шаурмичная, закусочная
pizzeria: cuisine=pizza
  pizzeria, pizza place, pizza restaurant, pizza shop / пиццерия, доставка пиццы
sushi: cuisine=sushi
  sushi bar, sushi restaurant, sushi place / суши-бар, суши, доставка суши, японский ресторан
bar: amenity=bar
  bar, cocktail bar, wine bar / бар, винный бар, коктейльный бар, рюмочная
pub: amenity=pub amenity=biergarten
  pub, gastropub, beer garden, beer bar / паб, пивной бар, пивной ресторан, пивная
nightclub: amenity=nightclub
  nightclub, night club, disco / ночной клуб, дискотека
hookah: amenity=hookah_lounge
  hookah lounge, hookah bar, shisha bar, shisha lounge / кальянная, кальян-бар
canteen: amenity=canteen cuisine=canteen
  canteen, cafeteria / столовая
catering: craft=caterer shop=catering
  caterer, catering company, catering service, catering / кейтеринг, кейтеринговая компания, выездное обслуживание
bakery: shop=bakery craft=bakery
  bakery, baker, bread shop / пекарня, булочная, хлебозавод
confectionery: shop=pastry shop=confectionery craft=confectionery
  confectionery, pastry shop, patisserie, cake shop, candy store, sweet shop, chocolatier
  / кондитерская, кондитер, торты на заказ, магазин сладостей
ice_cream: amenity=ice_cream shop=ice_cream
  ice cream parlour, ice cream parlor, ice cream shop, gelateria / кафе-мороженое, мороженое
brewery: craft=brewery microbrewery=yes
  brewery, microbrewery, craft brewery, brewpub / пивоварня, крафтовая пивоварня, частная пивоварня
winery: craft=winery
  winery, vineyard, wine maker / винодельня, винный завод
distillery: craft=distillery
  distillery / дистиллерия, ликеро-водочный завод
supermarket: shop=supermarket
  supermarket, grocery store, grocery / супермаркет, гипермаркет, продуктовый магазин, бакалея
convenience: shop=convenience
  convenience store, corner shop, mini market / магазин у дома, минимаркет, продукты
butcher: shop=butcher
  butcher, butcher shop, meat shop / мясная лавка, мясной магазин, магазин мяса
fishmonger: shop=seafood
  fishmonger, seafood shop, fish market / рыбный магазин, магазин рыбы
greengrocer: shop=greengrocer
  greengrocer, vegetable shop, fruit shop / овощной магазин, овощи и фрукты
health_food: shop=health_food
  health food store, organic food store, organic shop / магазин здорового питания, эко-магазин, экомагазин
tea: shop=tea
  tea shop, tea house, tea store / чайная, магазин чая, чайный магазин
alcohol: shop=alcohol shop=wine
  liquor store, wine shop, off licence, wine merchant, bottle shop / винный магазин, алкомаркет, винотека
tobacco: shop=tobacco shop=e-cigarette
  tobacco shop, vape shop, tobacconist / табачный магазин, вейп-шоп, вейпшоп
florist: shop=florist
  florist, flower shop, flower delivery / магазин цветов, цветочный магазин, цветочный салон, доставка цветов, флорист
  , цветочная мастерская
gift: shop=gift
  gift shop, souvenir shop / магазин подарков, сувенирный магазин, сувениры
clothes: shop=clothes shop=boutique
  clothing store, clothes shop, boutique, apparel store, fashion store, clothing shop
  / магазин одежды, бутик, шоурум, одежда
shoes: shop=shoes
  shoe shop, shoe store / магазин обуви, обувной магазин
jewelry: shop=jewelry craft=jeweller
  jewelry store, jewellery shop, jeweller, jeweler / ювелирный магазин, ювелирный салон, ювелирная мастерская, ювелир
wedding: shop=wedding
  bridal shop, wedding shop, wedding salon, bridal salon, bridal boutique / свадебный салон
watches: shop=watches craft=watchmaker
  watch shop, watchmaker, watch repair / магазин часов, часовая мастерская, ремонт часов
furniture: shop=furniture
  furniture store, furniture shop / мебельный магазин, магазин мебели, мебельный салон, салон мебели
furniture_maker: craft=cabinet_maker craft=carpenter craft=joiner
  furniture maker, cabinet maker, carpenter, joinery, custom furniture, furniture manufacturer, woodworking shop
  / мебель на заказ, производство мебели, мебельная фабрика, столярная мастерская, столяр, производитель мебели
  , мебельное производство
kitchen: shop=kitchen
  kitchen studio, kitchen showroom, kitchen shop / кухни на заказ, студия кухонь, салон кухонь, магазин кухонь
interior: shop=interior_decoration office=interior_design craft=interior_decorator
  interior designer, interior design studio, interior design company / дизайн интерьера, студия дизайна интерьера
  , дизайн-студия, студия дизайна, дизайнер интерьера
bed: shop=bed
  mattress store, bed shop / магазин матрасов, матрасы
curtains: shop=curtain
  curtain shop, blinds shop, curtain store / магазин штор, салон штор, жалюзи
carpet: shop=carpet shop=flooring
  carpet store, flooring store, flooring company / магазин ковров, напольные покрытия, магазин паркета
doityourself: shop=doityourself shop=hardware shop=trade
  hardware store, DIY store, building supplies, building materials store, home improvement store
  / строительный магазин, магазин стройматериалов, стройматериалы, хозтовары, хозяйственный магазин, строймаркет
paint: shop=paint
  paint shop, paint store / магазин красок, лакокрасочные материалы
tiles: shop=tiles shop=bathroom_furnishing
  tile shop, tile store, bathroom showroom / магазин плитки, салон сантехники, магазин сантехники
doors: shop=doors
  door shop, door store / магазин дверей, салон дверей, двери
windows: craft=window_construction shop=window_blind
  window installer, window company, window manufacturer / пластиковые окна, оконная компания, установка окон, окна
garden: shop=garden_centre landuse=plant_nursery
  garden centre, garden center, plant nursery / садовый центр, питомник растений
landscaping: craft=gardener office=landscape_architect
  landscaper, landscaping company, gardener, lawn care, landscape designer / ландшафтный дизайн, озеленение, садовник
electronics: shop=electronics
  electronics store, electronics shop / магазин электроники, магазин техники, магазин бытовой техники
electronics_repair: shop=electronics_repair craft=electronics_repair
  electronics repair, appliance repair, TV repair / ремонт бытовой техники, ремонт электроники, ремонт техники
  , ремонт холодильников, ремонт стиральных машин
computer: shop=computer
  computer shop, computer store, computer repair / компьютерный магазин, ремонт компьютеров, компьютерный сервис
mobile_phone: shop=mobile_phone
  mobile phone shop, phone store, cell phone store, phone repair shop, phone repair
  / салон связи, ремонт телефонов, ремонт смартфонов, магазин телефонов
books: shop=books
  bookshop, bookstore, book store / книжный магазин, книжный
stationery: shop=stationery
  stationery shop, office supplies store / канцтовары, магазин канцелярии, канцелярский магазин
toys: shop=toys
  toy shop, toy store / магазин игрушек, детские игрушки
baby_goods: shop=baby_goods
  baby shop, baby store, children's store / магазин детских товаров, детские товары, детский магазин
  , товары для детей
sports_shop: shop=sports shop=outdoor
  sports shop, sporting goods store, outdoor shop, sports store / спортивный магазин, спорттовары, магазин спорттоваров
hunting: shop=hunting shop=fishing shop=weapons
  hunting shop, fishing shop, tackle shop, gun shop / охотничий магазин, рыболовный магазин, охота и рыбалка
musical_instrument: shop=musical_instrument
  music shop, music store, musical instrument shop / музыкальный магазин, магазин музыкальных инструментов
art: shop=art tourism=gallery
  art gallery, gallery, art shop / художественная галерея, галерея, арт-галерея
antiques: shop=antiques
  antique shop, antiques dealer, antique store / антикварный магазин, антиквариат
second_hand: shop=second_hand shop=charity
  second hand shop, thrift store, charity shop, thrift shop / секонд-хенд, комиссионный магазин, комиссионка
pet: shop=pet
  pet shop, pet store, pet supplies / зоомагазин, товары для животных, магазин для животных
pet_grooming: shop=pet_grooming
  pet groomer, dog groomer, grooming salon, pet grooming, dog grooming salon / груминг, груминг-салон, зоосалон
  , груминг салон, стрижка собак
animal_boarding: amenity=animal_boarding
  kennel, dog hotel, pet hotel, dog boarding, doggy daycare / зоогостиница, гостиница для животных, передержка
`
